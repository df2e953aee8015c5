#include "ingress/submit/submit.h"

#include <string.h>

#include "base/log.h"
#include "ingress/submit/batch.h"
#include "ingress/submit/submission.h"
#include "ingress/submit/submits.h"
#include "task/task_proto.h"
#include "task/task_submit.h"

#define SCHEMA_BATCH "ax.v1.TaskBatch"

static void answer_error(struct ingress *ing, natsMsg *msg, const char *reply,
                         const struct verdict *v, enum refusal why)
{
    metric_add(ing->counters.refused[why], 1);
    answer_send(ing->wire, reply, v);
    natsMsg_Destroy(msg);
}

static void refuse_no_memory(struct ingress *ing, natsMsg *msg, const char *reply)
{
    struct verdict v;
    log_error("out of memory, submission refused", "subject=%s", natsMsg_GetSubject(msg));
    if (reply == NULL) {
        natsMsg_Destroy(msg);
        return;
    }
    answer_set_error(&v, 503, JSERR_STORE_FULL, SUBMITS_RETRY_MS,
                     "ingress is out of memory, retry in %dms", SUBMITS_RETRY_MS);
    answer_error(ing, msg, reply, &v, REFUSED_BUSY);
}

/* True: msg was a batch and is taken. */
static bool take_batch(struct ingress *ing, natsMsg *msg, const char *reply, const char *schema,
                       struct problem *p)
{
    if (schema == NULL || strcmp(schema, SCHEMA_BATCH) != 0)
        return false;
    return batch_take(ing, msg, reply, p) == AX_OK;
}

static ax_err read_task(struct submission *s, const char *schema, struct problem *p)
{
    if (schema == NULL)
        return task_submit_read(&s->task, s->source.msg, p);
    if (strcmp(schema, SCHEMA_BATCH) == 0)
        return p->err; /* a batch that could not be read */
    return task_proto_read(&s->task, natsMsg_GetSubject(s->source.msg),
                           natsMsg_GetData(s->source.msg),
                           (size_t)natsMsg_GetDataLength(s->source.msg), &s->source.unpacked, p);
}

void submit_take(struct ingress *ing, natsMsg *msg)
{
    struct problem p = {0};
    struct verdict v;
    const char *reply = replies_of(&ing->replies, msg), *schema = NULL;
    if (reply != NULL && submits_are_full(ing->submits)) {
        answer_set_error(&v, 503, JSERR_STORE_FULL, 100, "ingress is busy, retry in 100ms");
        answer_error(ing, msg, reply, &v, REFUSED_BUSY);
        return;
    }
    natsStatus st = natsMsgHeader_Get(msg, HDR_SCHEMA, &schema);
    if (st == NATS_NO_MEMORY) {
        refuse_no_memory(ing, msg, reply);
        return;
    }
    if (st != NATS_OK)
        schema = NULL;
    ax_err err = schema != NULL ? task_submit_check_proto(msg, &p) : AX_OK;
    if (err == AX_OK && take_batch(ing, msg, reply, schema, &p))
        return;
    struct submission *s = submission_new(ing);
    if (s == NULL) {
        refuse_no_memory(ing, msg, reply);
        return;
    }
    s->source.msg = msg;
    s->source.bytes = natsMsg_GetDataLength(msg);
    s->source.reply = reply;
    if (err == AX_OK)
        err = read_task(s, schema, &p);
    if (err == AX_OK) {
        submission_start(s);
        return;
    }
    submission_start_unread(s, natsMsg_GetSubject(msg), &p);
}
