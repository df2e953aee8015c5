#include "ingress/submit/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ax/v1/task.pb-c.h"
#include "base/fault.h"
#include "base/log.h"
#include "ingress/submit/admission.h"
#include "ingress/submit/submission.h"
#include "task/header.h"
#include "task/task.h"
#include "task/task_proto.h"

#define BATCH_REPLY_SCHEMA "ax.v1.BatchReply"
#define SHORT_DESCRIPTION 40 /* when the answer would not fit into a message otherwise */

struct result {
    struct verdict v;
    char stream[64];
    char task[TASK_ID_CHARS + 1];
};

struct batch {
    struct ingress *ing;
    natsMsg *msg;
    struct charge charge;
    const char *reply; /* borrowed from msg; NULL: nobody to tell */
    void *unpacked;
    size_t count, unanswered, unreleased;
    struct result *results;
};

static void fill(Ax__V1__Reply *r, Ax__V1__Error *e, struct result *from)
{
    ax__v1__reply__init(r);
    if (from->v.code == 0) {
        r->stream = from->stream;
        r->seq = from->v.seq;
        r->duplicate = from->v.duplicate;
        r->task = from->task;
        r->state = (char *)from->v.state;
        return;
    }
    ax__v1__error__init(e);
    e->code = from->v.code;
    e->err_code = from->v.err_code;
    e->description = from->v.description;
    e->retry_after_ms = (uint32_t)from->v.retry_after_ms;
    r->error = e;
}

/* proto3 strings are UTF-8: a description may quote bytes that are not, or be cut inside a
 * character. */
static void make_ascii(char *s)
{
    for (; *s != '\0'; s++) {
        if ((unsigned char)*s >= 0x80 || (unsigned char)*s < 0x20)
            *s = '?';
    }
}

static void publish(struct batch *b, const Ax__V1__BatchReply *reply)
{
    size_t bytes = ax__v1__batch_reply__get_packed_size(reply);
    uint8_t *data = malloc(bytes + 1);
    natsMsg *msg = NULL;
    if (data != NULL) {
        ax__v1__batch_reply__pack(reply, data);
        if (natsMsg_Create(&msg, b->reply, NULL, (const char *)data, (int)bytes) == NATS_OK &&
            header_set(msg, HDR_SCHEMA, BATCH_REPLY_SCHEMA) == NATS_OK)
            wire_publish_msg(b->ing->wire, msg);
        FAULT_SENT("batch.answer.after", b->ing->wire);
        natsMsg_Destroy(msg);
    }
    free(data);
}

static void answer(struct batch *b)
{
    Ax__V1__BatchReply reply = AX__V1__BATCH_REPLY__INIT;
    Ax__V1__Reply *replies = calloc(b->count, sizeof(*replies));
    Ax__V1__Reply **list = calloc(b->count, sizeof(*list));
    Ax__V1__Error *errors = calloc(b->count, sizeof(*errors));
    size_t limit = (size_t)wire_max_payload(b->ing->wire);
    FAULT("batch.answer.before");
    if (replies != NULL && list != NULL && errors != NULL) {
        for (size_t i = 0; i < b->count; i++) {
            make_ascii(b->results[i].v.description);
            fill(&replies[i], &errors[i], &b->results[i]);
            list[i] = &replies[i];
        }
        reply.replies = list;
        reply.n_replies = b->count;
        if (ax__v1__batch_reply__get_packed_size(&reply) + 128 > limit) {
            for (size_t i = 0; i < b->count; i++)
                b->results[i].v.description[SHORT_DESCRIPTION] = '\0';
        }
        publish(b, &reply);
    }
    free(replies);
    free(list);
    free(errors);
}

void batch_answered(struct batch *b, size_t index, const struct verdict *v)
{
    struct result *r = &b->results[index];
    r->v = *v;
    snprintf(r->stream, sizeof(r->stream), "%s", v->stream != NULL ? v->stream : "");
    snprintf(r->task, sizeof(r->task), "%s", v->task != NULL ? v->task : "");
    if (--b->unanswered == 0 && b->reply != NULL)
        answer(b);
}

void batch_release(struct batch *b)
{
    if (--b->unreleased > 0)
        return;
    task_proto_free_batch(b->unpacked);
    natsMsg_Destroy(b->msg);
    account_give(b->ing->account, &b->charge);
    free(b->results);
    free(b);
}

static void start(struct batch *b, size_t index)
{
    struct submission *s = submission_new(b->ing);
    struct problem p = {0};
    if (s == NULL) {
        struct verdict v;
        answer_set_error(&v, 503, JSERR_STORE_FULL, 1000,
                         "ingress is out of memory, retry in 1000ms");
        batch_answered(b, index, &v);
        batch_release(b);
        return;
    }
    s->source.batch = b;
    s->source.index = index;
    s->source.reply = b->reply;
    if (task_proto_read_nth(&s->task, natsMsg_GetSubject(b->msg), b->unpacked, index, &p) == AX_OK)
        submission_start(s);
    else
        submission_start_unread(s, natsMsg_GetSubject(b->msg), &p);
}

static ax_err unpack(struct batch *b, struct charge *charge, struct problem *p)
{
    natsMsg *msg = b->msg;
    const void *data = natsMsg_GetData(msg);
    size_t bytes = (size_t)natsMsg_GetDataLength(msg), count;
    size_t weight = task_proto_weigh_batch(data, bytes, &count);
    if (!admission_take_batch(b->ing, msg, b->reply, count, weight, charge))
        return AX_E_BUSY;
    ax_err err = task_proto_unpack_batch(data, bytes, &b->unpacked, &b->count, p);
    if (err != AX_OK)
        return err;
    b->results = calloc(b->count, sizeof(*b->results));
    return b->results != NULL ? AX_OK : problem_set(p, AX_E_NOMEM, "ingress is out of memory");
}

ax_err batch_take(struct ingress *ing, natsMsg *msg, const char *reply, struct charge *charge,
                  struct problem *p)
{
    struct batch *b = calloc(1, sizeof(*b));
    if (b == NULL)
        return problem_set(p, AX_E_NOMEM, "ingress is out of memory");
    b->ing = ing;
    b->msg = msg;
    b->reply = reply;
    ax_err err = unpack(b, charge, p);
    if (err != AX_OK) {
        task_proto_free_batch(b->unpacked);
        free(b);
        return err;
    }
    b->charge = *charge;
    b->unanswered = b->count;
    b->unreleased = b->count + 1; /* one for the loop below */
    metric_add(ing->counters.batches, 1);
    size_t count = b->count;
    for (size_t i = 0; i < count; i++)
        start(b, i);
    batch_release(b);
    return AX_OK;
}
