#include "ingress/submit/submit.h"

#include <string.h>

#include "base/log.h"
#include "ingress/submit/admission.h"
#include "ingress/submit/batch.h"
#include "ingress/submit/submission.h"
#include "ingress/submit/submits.h"
#include "task/task_proto.h"
#include "task/task_submit.h"

#define SCHEMA_BATCH "ax.v1.TaskBatch"

static void refuse_no_memory(struct ingress *ing, natsMsg *msg, const char *reply)
{
    static struct log_gate gate;
    char text[300];
    struct verdict v;
    log_limited(&gate, loop_now_ns(ing->loop), LOG_ERROR, "out of memory, submission refused",
                "subject=%s", log_quote(natsMsg_GetSubject(msg), text, sizeof(text)));
    if (reply == NULL)
        return;
    answer_set_error(&v, 503, JSERR_STORE_FULL, SUBMITS_RETRY_MS,
                     "ingress is out of memory, retry in %dms", SUBMITS_RETRY_MS);
    metric_add(ing->counters.refused[REFUSED_BUSY], 1);
    answer_send(ing->wire, reply, &v);
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

/* err, p: what is known of msg already. False: no memory, and msg and charge are still the
 * caller's. */
static bool start(struct ingress *ing, natsMsg *msg, const char *reply, const char *schema,
                  const struct charge *charge, ax_err err, struct problem *p)
{
    struct submission *s = submission_new(ing);
    if (s == NULL)
        return false;
    s->source.msg = msg;
    s->source.charge = *charge;
    s->source.reply = reply;
    if (err == AX_OK)
        err = read_task(s, schema, p);
    if (err == AX_OK)
        submission_start(s);
    else
        submission_start_unread(s, natsMsg_GetSubject(msg), p);
    return true;
}

/* False: msg and charge are still the caller's. */
static bool take(struct ingress *ing, natsMsg *msg, const char *reply, struct charge *charge)
{
    struct problem p = {0};
    const char *schema = NULL;
    ax_err err = AX_OK;
    natsStatus st = natsMsgHeader_Get(msg, HDR_SCHEMA, &schema);
    if (st == NATS_NO_MEMORY) {
        refuse_no_memory(ing, msg, reply);
        return false;
    }
    if (st != NATS_OK)
        schema = NULL;
    if (schema != NULL)
        err = task_submit_check_proto(msg, &p);
    if (err == AX_OK && schema != NULL && strcmp(schema, SCHEMA_BATCH) == 0) {
        ax_err taken = batch_take(ing, msg, reply, charge, &p);
        if (taken == AX_OK || taken == AX_E_BUSY)
            return taken == AX_OK;
    }
    if (start(ing, msg, reply, schema, charge, err, &p))
        return true;
    refuse_no_memory(ing, msg, reply);
    return false;
}

void submit_take(struct ingress *ing, natsMsg *msg, int64_t bytes)
{
    struct charge charge = {0};
    const char *reply = replies_of(&ing->replies, msg);
    if (admission_take(ing, msg, reply, bytes, &charge) && take(ing, msg, reply, &charge))
        return;
    account_give(ing->account, &charge);
    natsMsg_Destroy(msg);
}
