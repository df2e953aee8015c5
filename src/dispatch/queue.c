/* One priority of a pool: what its consumer sends is staged, or tells that a lease came back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool.h"

void queue_stage(struct run *r, bool front)
{
    struct queue *q = r->queue;
    r->state = RUN_STAGED;
    r->prev = front ? NULL : q->staged_tail;
    r->next = front ? q->staged_head : NULL;
    *(r->prev != NULL ? &r->prev->next : &q->staged_head) = r;
    *(r->next != NULL ? &r->next->prev : &q->staged_tail) = r;
    q->staged++;
}

void queue_unstage(struct run *r)
{
    struct queue *q = r->queue;
    *(r->prev != NULL ? &r->prev->next : &q->staged_head) = r->next;
    *(r->next != NULL ? &r->next->prev : &q->staged_tail) = r->prev;
    r->prev = r->next = NULL;
    q->staged--;
}

struct queue *pool_queue(struct pool *p, const char *priority)
{
    for (int i = 0; i < p->queue_count; i++) {
        if (strcmp(p->queues[i]->priority, priority) == 0)
            return p->queues[i];
    }
    return NULL;
}

struct queue *pool_queue_of_stream(struct pool *p, const char *stream)
{
    for (int i = 0; i < p->queue_count; i++) {
        if (strcmp(p->queues[i]->stream, stream) == 0)
            return p->queues[i];
    }
    return NULL;
}

/* ---- what the queues send ---- */

static bool other_runs(struct pool *p, const char *id)
{
    struct run *r = NULL;
    HASH_FIND(by_id, p->by_id, id, strlen(id), r);
    return r != NULL;
}

/* The lease of a run we hold came back: it lapsed. */
static void on_redelivery(struct run *r, natsMsg *msg)
{
    struct pool *p = r->pool;
    run_set_lease(r, natsMsg_GetReply(msg));
    natsMsg_Destroy(msg);
    metric_add(p->m_lapsed, 1);
    if (r->state != RUN_RUNNING)
        return;
    if (r->work_seq != 0)
        run_look(r);
    else if (r->reason[0] != '\0')
        run_bury(r, r->reason); /* a step of ending got no answer before */
    else
        queue_stage(r, false);
}

static void on_new(struct queue *q, natsMsg *msg, const struct ack_subject *meta)
{
    struct pool *p = q->pool;
    struct task_subject s;
    if (name_parse_task_subject(natsMsg_GetSubject(msg), &s) && other_runs(p, s.id)) {
        /* The same id under another priority: never two at once. When the first is done this one is dropped. */
        natsConnection_PublishString(p->dispatch->nc, natsMsg_GetReply(msg), "-NAK {\"delay\":1000000000}");
        natsMsg_Destroy(msg);
        return;
    }
    q->body_bytes += (natsMsg_GetDataLength(msg) - q->body_bytes) / 8;
    struct run *r = run_new(q, msg, meta->stream_seq, meta->timestamp_ns);
    if (r == NULL) {
        log_error("out of memory, task left in its queue", "pool=%s stream=%s seq=%" PRIu64, p->name, q->stream,
                  meta->stream_seq);
        return;
    }
    if (r->reason[0] != '\0')
        run_bury(r, r->reason);
    else
        queue_stage(r, false);
}

static void on_queue_message(void *arg, natsMsg *msg)
{
    struct queue *q = arg;
    struct pool *p = q->pool;
    struct ack_subject meta;
    struct run *r = NULL;
    const char *reply = natsMsg_GetReply(msg);
    if (reply == NULL || !ack_parse_subject(reply, &meta)) {
        natsMsg_Destroy(msg);
        return;
    }
    clock_learn(&p->dispatch->clock, meta.timestamp_ns);
    if (atomic_load(&p->dispatch->stopping)) { /* a pull was still open */
        natsConnection_PublishString(p->dispatch->nc, reply, NAK_LATER);
        natsMsg_Destroy(msg);
        return;
    }
    q->behind = meta.pending;
    HASH_FIND(by_seq, q->runs, &meta.stream_seq, sizeof meta.stream_seq, r);
    bool stale = r != NULL && r->stored_ns != meta.timestamp_ns; /* of a former stream of this name */
    if (r != NULL && (r->state == RUN_LOST || (stale && (r->state == RUN_STAGED || r->state == RUN_RUNNING)))) {
        run_free(r); /* the message is what counts */
        r = NULL;
    }
    if (stale && r != NULL) { /* an answer for the old one is still on its way */
        natsConnection_PublishString(p->dispatch->nc, reply, "-NAK {\"delay\":1000000000}");
        natsMsg_Destroy(msg);
    } else if (r != NULL)
        on_redelivery(r, msg);
    else
        on_new(q, msg, &meta);
    pool_pump(p);
}

static void on_queue_lost(void *arg)
{
    struct queue *q = arg;
    dispatch_kick(q->pool->dispatch);
}

void pool_add_queue(struct pool *p, const struct priority *pr)
{
    if (p->queue_count == PRIORITIES_MAX)
        return;
    struct queue *q = calloc(1, sizeof *q);
    if (q == NULL)
        return;
    q->pool = p;
    snprintf(q->priority, sizeof q->priority, "%s", pr->name);
    snprintf(q->stream, sizeof q->stream, "%s", pr->stream);
    struct puller_events events = {on_queue_message, on_queue_lost, q};
    if (puller_new(&q->puller, p->dispatch->nc, p->dispatch->loop, q->stream, p->name, &events) != AX_OK) {
        free(q);
        return;
    }
    p->queues[p->queue_count++] = q;
}
