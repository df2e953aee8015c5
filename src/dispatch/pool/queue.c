/* One priority of a pool: what its consumer sends is staged, or tells that a lease came back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "dispatch/attempt/cancel.h"
#include "dispatch/attempt/ending.h"
#include "dispatch/attempt/verify.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/pool/pool.h"

#define HOLD_NS 60000000000LL /* after the last task that named a group */

/* While groups take turns everything that waits is held; what is kept of it in memory is bounded
 * all the same. */
bool queue_holds_all(const struct queue *q)
{
    return q->grouped > 0 || settings_limit_groups(&q->pool->settings) ||
           loop_now_ns(q->pool->dispatch->loop) < q->hold_until_ns;
}

void queue_stage(struct attempt *r, bool front)
{
    struct queue *q = r->queue;
    r->state = ATTEMPT_STAGED;
    if (r->msg != NULL && q->kept_bytes >= STAGE_BYTES && queue_holds_all(q))
        attempt_drop_content(r);
    if (r->msg != NULL)
        q->kept_bytes += (int64_t)r->bytes;
    if (r->turn.group != NULL)
        q->hold_until_ns = loop_now_ns(q->pool->dispatch->loop) + HOLD_NS;
    if (!ordered_holds(r))
        group_queue_add(r, front);
    r->prev = front ? NULL : q->staged_tail;
    r->next = front ? q->staged_head : NULL;
    *(r->prev != NULL ? &r->prev->next : &q->staged_head) = r;
    *(r->next != NULL ? &r->next->prev : &q->staged_tail) = r;
    q->staged++;
}

void queue_unstage(struct attempt *r)
{
    struct queue *q = r->queue;
    *(r->prev != NULL ? &r->prev->next : &q->staged_head) = r->next;
    *(r->next != NULL ? &r->next->prev : &q->staged_tail) = r->prev;
    r->prev = r->next = NULL;
    q->staged--;
    if (r->msg != NULL)
        q->kept_bytes -= (int64_t)r->bytes;
    group_queue_remove(r);
}

struct queue *queue_of(struct pool *p, const char *priority)
{
    for (int i = 0; i < p->queue_count; i++) {
        if (strcmp(p->queues[i]->priority, priority) == 0)
            return p->queues[i];
    }
    return NULL;
}

struct queue *queue_of_stream(struct pool *p, const char *stream)
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
    struct attempt *r = NULL;
    HASH_FIND(by_id, p->by_id, id, strlen(id), r);
    return r != NULL;
}

/* The lease of a run we hold came back: it lapsed. */
static void on_redelivery(struct attempt *r, natsMsg *msg)
{
    struct pool *p = r->pool;
    attempt_set_lease(r, natsMsg_GetReply(msg));
    natsMsg_Destroy(msg);
    metric_add(p->count.leases_expired, 1);
    if (r->state != ATTEMPT_RUNNING)
        return;
    if (r->end.decided)
        ending_repeat(r);
    else if (r->hand_off.seq != 0)
        verify_start(r);
    else if (r->end.reason[0] != '\0')
        ending_bury(r, r->end.why, r->end.reason); /* a step of ending got no answer before */
    else
        queue_stage(r, false);
}

static void on_new(struct queue *q, natsMsg *msg, const struct ack_subject *meta)
{
    struct pool *p = q->pool;
    struct task_subject s = {0};
    const char *ordered = NULL;
    if (name_parse_task_subject(natsMsg_GetSubject(msg), &s) && other_runs(p, s.id)) {
        /* The same id under another priority: never two at once. When the first is done this one is
         * dropped. */
        metric_add(p->stats.m_put_off, 1);
        FAULT("queue.put-off.before");
        wire_publish_text(p->dispatch->wire, natsMsg_GetReply(msg), "-NAK {\"delay\":1000000000}");
        FAULT_SENT("queue.put-off.after", p->dispatch->wire);
        if (natsMsgHeader_Get(msg, HDR_ORDERED, &ordered) == NATS_OK)
            ordered_invalidate(q);
        natsMsg_Destroy(msg);
        return;
    }
    if (p->cancels != NULL)
        cancel_saw(p, s.id);
    q->body_bytes += (natsMsg_GetDataLength(msg) - q->body_bytes) / 8;
    struct attempt *r = attempt_new(q, msg, meta->stream_seq, meta->timestamp_ns);
    if (r == NULL) {
        log_error("out of memory, task left in its queue", "pool=%s stream=%s seq=%" PRIu64,
                  p->name, q->stream, meta->stream_seq);
        ordered_invalidate(q);
        return;
    }
    r->lease.redelivered = meta->delivered > 1;
    if (r->end.reason[0] != '\0')
        ending_bury(r, r->end.why, r->end.reason);
    else
        queue_stage(r, false);
}

static void on_queue_message(void *arg, natsMsg *msg)
{
    struct queue *q = arg;
    struct pool *p = q->pool;
    struct ack_subject meta;
    struct attempt *r = NULL;
    const char *reply = natsMsg_GetReply(msg);
    if (reply == NULL || !ack_parse_subject(reply, &meta)) {
        natsMsg_Destroy(msg);
        return;
    }
    clock_learn(&p->dispatch->clock, meta.timestamp_ns);
    if (!p->lead.ready || p->lead.resting) { /* a pull was still open */
        wire_publish_text(p->dispatch->wire, reply, NAK_LATER);
        natsMsg_Destroy(msg);
        return;
    }
    q->behind = meta.pending;
    ordered_heard(q, meta.consumer_seq);
    HASH_FIND(by_seq, q->attempts, &meta.stream_seq, sizeof(meta.stream_seq), r);
    /* of a former stream of this name */
    bool stale = r != NULL && r->stored_ns != meta.timestamp_ns;
    if (r != NULL && (r->state == ATTEMPT_LOST ||
                      (stale && (r->state == ATTEMPT_STAGED || r->state == ATTEMPT_RUNNING)))) {
        ordered_keep(r);
        attempt_free(r); /* the message is what counts */
        r = NULL;
    }
    if (stale && r != NULL) { /* an answer for the old one is still on its way */
        wire_publish_text(p->dispatch->wire, reply, "-NAK {\"delay\":1000000000}");
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

void queue_new(struct pool *p, const struct priority *pr)
{
    if (p->queue_count == PRIORITIES_MAX)
        return;
    struct queue *q = calloc(1, sizeof(*q));
    if (q == NULL)
        return;
    q->pool = p;
    q->plain.queue = q;
    q->plain.turn.weight = settings_weight(&p->settings, NULL);
    snprintf(q->priority, sizeof(q->priority), "%s", pr->name);
    snprintf(q->stream, sizeof(q->stream), "%s", pr->stream);
    struct puller_events events = {on_queue_message, on_queue_lost, q};
    if (puller_new(&q->puller, p->dispatch->wire, p->dispatch->loop, q->stream, p->name, &events) !=
        AX_OK) {
        free(q);
        return;
    }
    pool_stats_init_queue(q);
    p->queues[p->queue_count++] = q;
}
