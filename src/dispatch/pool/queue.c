/* One priority of a pool: what its consumer sends is staged, or tells that a lease came back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/ack.h"
#include "dispatch/attempt/cancel.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"

#define HOLD_NS 60000000000LL /* after the last task that named a group */
#define NAK_TWICE_MS 1000     /* another message of the same task is not done with yet */

/* While groups take turns everything that waits is held; what is kept of it in memory is bounded
 * all the same. */
bool queue_holds_all(const struct queue *q)
{
    return q->grouped > 0 || settings_limit_groups(&q->pool->settings) ||
           loop_now_ns(q->pool->dispatch->loop) < q->hold_until_ns;
}

void queue_stage(struct attempt *a, bool front)
{
    struct queue *q = a->queue;
    a->links.staged = true;
    if (a->msg != NULL && q->kept_bytes >= STAGE_BYTES && queue_holds_all(q))
        attempt_drop_content(a);
    if (a->msg != NULL)
        q->kept_bytes += (int64_t)a->bytes;
    if (a->turn.group != NULL)
        q->hold_until_ns = loop_now_ns(q->pool->dispatch->loop) + HOLD_NS;
    if (!ordered_holds(a))
        group_queue_add(a, front);
    a->links.prev = front ? NULL : q->staged_tail;
    a->links.next = front ? q->staged_head : NULL;
    *(a->links.prev != NULL ? &a->links.prev->links.next : &q->staged_head) = a;
    *(a->links.next != NULL ? &a->links.next->links.prev : &q->staged_tail) = a;
    q->staged++;
}

void queue_unstage(struct attempt *a)
{
    struct queue *q = a->queue;
    a->links.staged = false;
    *(a->links.prev != NULL ? &a->links.prev->links.next : &q->staged_head) = a->links.next;
    *(a->links.next != NULL ? &a->links.next->links.prev : &q->staged_tail) = a->links.prev;
    a->links.prev = a->links.next = NULL;
    q->staged--;
    if (a->msg != NULL)
        q->kept_bytes -= (int64_t)a->bytes;
    group_queue_remove(a);
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

/* The lease of an attempt that is held came back: it had expired. */
static void on_redelivery(struct attempt *a, natsMsg *msg)
{
    attempt_set_lease(a, puller_ack_subject(msg));
    natsMsg_Destroy(msg);
    metric_add(a->pool->count.leases_expired, 1);
    attempt_on(a, ATTEMPT_ON_REDELIVERED, NULL);
}

static void on_new(struct queue *q, natsMsg *msg, const struct ack_subject *meta)
{
    struct pool *p = q->pool;
    struct task_subject s = {0};
    const char *ordered = NULL;
    if (name_parse_task_subject(natsMsg_GetSubject(msg), &s) && attempt_of_task(p, s.id) != NULL) {
        /* The same id under another priority: never two at once. When the first is done this one is
         * dropped. */
        metric_add(p->stats.m_put_off, 1);
        FAULT("queue.put-off.before");
        ack_send_nak(p->dispatch->wire, puller_ack_subject(msg), NAK_TWICE_MS);
        FAULT_SENT("queue.put-off.after", p->dispatch->wire);
        if (natsMsgHeader_Get(msg, HDR_ORDERED, &ordered) == NATS_OK)
            ordered_invalidate(q);
        natsMsg_Destroy(msg);
        return;
    }
    if (p->cancels != NULL)
        cancel_saw(p, s.id);
    q->body_bytes += (natsMsg_GetDataLength(msg) - q->body_bytes) / 8;
    if (attempt_new(q, msg, meta->stream_seq, meta->timestamp_ns, meta->delivered > 1) == NULL) {
        log_error("out of memory, task left in its queue", "pool=%s stream=%s seq=%" PRIu64,
                  p->name, q->stream, meta->stream_seq);
        ordered_invalidate(q);
    }
}

static void on_queue_message(void *arg, natsMsg *msg, const struct ack_subject *meta)
{
    struct queue *q = arg;
    struct pool *p = q->pool;
    const char *reply = puller_ack_subject(msg);
    clock_learn(&p->dispatch->clock, meta->timestamp_ns);
    if (!p->lead.ready || p->lead.resting) { /* a pull was still open */
        ack_send_nak(p->dispatch->wire, reply, QUEUE_NAK_MS);
        natsMsg_Destroy(msg);
        return;
    }
    q->behind = meta->pending;
    ordered_delivered(q, meta->consumer_seq);
    struct attempt *a = attempt_of_message(q, meta->stream_seq);
    /* Of a former stream of this name, or lost with AX_WORK: the message is what counts. */
    bool stale = a != NULL && a->stored_ns != meta->timestamp_ns;
    if (a != NULL && (stale || a->state == ATTEMPT_LOST) && attempt_may(a, ATTEMPT_ON_REPLACED)) {
        attempt_on(a, ATTEMPT_ON_REPLACED, NULL);
        a = NULL;
    }
    if (stale && a != NULL) { /* an answer for the old one is still on its way */
        ack_send_nak(p->dispatch->wire, reply, NAK_TWICE_MS);
        natsMsg_Destroy(msg);
    } else if (a != NULL)
        on_redelivery(a, msg);
    else
        on_new(q, msg, meta);
    pump_soon(p);
}

static void on_queue_lost(void *arg)
{
    struct queue *q = arg;
    dispatch_kick_pool(q->pool->dispatch, q->pool);
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
