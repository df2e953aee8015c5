#include "dispatch/fair/ordered.h"

#include <utlist.h>

#include "dispatch/attempt/attempt.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/groups.h"
#include "dispatch/fair/order_rebuild.h"
#include "dispatch/fair/order_slot.h"
#include "dispatch/fair/pending_retry.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"

static void touch(struct group_queue *gq)
{
    gq->order.still_ns = loop_now_ns(gq->queue->pool->dispatch->loop);
}

/* ---- whose turn ---- */

void ordered_release(struct group_queue *gq)
{
    struct pool *p = gq->queue->pool;
    struct ordered_state *o = &gq->order;
    struct attempt *first = o->slots != NULL ? o->slots->attempt : NULL;
    if (!p->order.known || o->released > 0 || first == NULL || first->state != ATTEMPT_WAITING)
        return;
    /* Only the retry itself passes a pending retry. */
    if (o->pending > 0 && !pending_retry_exists(gq, first->task.id))
        return;
    first->turn.released = true;
    o->released++;
    group_queue_add(first, false);
    pump_soon(p);
}

void ordered_release_all(struct pool *p)
{
    struct group *g, *next;
    struct group_queue *gq;
    HASH_ITER(hh, p->groups, g, next) {
        LL_FOREACH(g->queues, gq)
            ordered_release(gq);
    }
}

bool ordered_join(struct attempt *a, bool running)
{
    struct group_queue *gq = group_queue_of(a->turn.group, a->queue);
    struct order_slot *s = order_slot_put(gq, a->queue_seq, a->task.attempt > 1);
    if (s == NULL)
        return false;
    order_slot_revive(s);
    s->attempt = a;
    a->turn.slot = s;
    touch(gq);
    if (running) {
        a->turn.released = true;
        gq->order.released++;
    }
    if (!a->pool->order.known)
        order_rebuild_start(a->pool);
    return true;
}

void ordered_leave(struct attempt *a)
{
    struct order_slot *s = a->turn.slot;
    if (s == NULL)
        return;
    struct group_queue *gq = s->group_queue;
    a->turn.slot = NULL;
    if (a->turn.released)
        gq->order.released--;
    if (a->end.next_attempt)
        pending_retry_add(gq, a->task.id, true);
    else
        pending_retry_end(gq, a->task.id);
    order_slot_end(s);
    touch(gq);
    ordered_release(gq);
}

void ordered_keep(struct attempt *a)
{
    struct order_slot *s = a->turn.slot;
    if (s == NULL)
        return;
    if (a->turn.released)
        s->group_queue->order.released--;
    a->turn.released = false;
    s->attempt = NULL;
    a->turn.slot = NULL;
    touch(s->group_queue);
}

bool ordered_holds(struct attempt *a)
{
    if (a->turn.slot == NULL || a->turn.released)
        return false;
    ordered_release(a->turn.slot->group_queue);
    return true;
}

bool ordered_remembers(const struct group_queue *gq)
{
    return gq->order.slots != NULL || gq->order.pending_retries != NULL;
}

/* ---- what may have been missed ---- */

void ordered_invalidate(struct queue *q)
{
    struct pool_order *o = &q->pool->order;
    if (!o->known && o->rebuild == NULL)
        return; /* nothing is known that could be wrong */
    o->known = false;
    o->invalid = true;
    order_rebuild_start(q->pool);
}

void ordered_delivered(struct queue *q, uint64_t consumer_seq)
{
    bool gap = consumer_seq != q->heard_cseq + 1;
    q->heard_cseq = consumer_seq;
    if (gap)
        ordered_invalidate(q);
}

void ordered_forget(struct pool *p)
{
    struct group *g, *next;
    struct group_queue *gq;
    order_rebuild_stop(p);
    p->order.known = p->order.invalid = false;
    for (int i = 0; i < p->queue_count; i++)
        order_slot_clear(p->queues[i]);
    HASH_ITER(hh, p->groups, g, next) {
        LL_FOREACH(g->queues, gq) {
            gq->order.released = 0;
            pending_retry_clear(gq);
        }
    }
}
