#include "dispatch/pool/order.h"

#include "dispatch/dispatch.h"

/* With the last message the server said that it has more, and they are asked for. */
static bool is_refilling(const struct queue *q, int64_t now_ns)
{
    return q->staged == 0 && q->behind > 0 && now_ns - q->behind_ns < ORDER_REFILL_WAIT_NS;
}

bool order_is_refilling(const struct pool *p)
{
    int64_t now = loop_now_ns(p->dispatch->loop);
    for (int i = 0; i < p->queue_count; i++) {
        if (is_refilling(p->queues[i], now))
            return true;
    }
    return false;
}

struct attempt *order_next(struct pool *p)
{
    int64_t now = loop_now_ns(p->dispatch->loop);
    struct queue *top = NULL, *lower = NULL;
    for (int i = 0; i < p->queue_count; i++) {
        struct queue *q = p->queues[i];
        if (top == NULL && is_refilling(q, now))
            return NULL;
        const struct attempt *next = group_queue_next(q);
        if (next == NULL)
            continue;
        if (top == NULL)
            top = q;
        else if (lower == NULL ||
                 next->lease.renewed_ns < group_queue_next(lower)->lease.renewed_ns)
            lower = q; /* of the lower ones, the one that has waited longest */
    }
    if (lower != NULL && p->flow.share_credit >= 1)
        return group_queue_next(lower);
    return top != NULL ? group_queue_next(top) : NULL;
}

void order_taken(struct pool *p, const struct attempt *a)
{
    bool lower_waits = false, was_top = true;
    for (int i = 0; i < p->queue_count; i++) {
        const struct queue *q = p->queues[i];
        if (group_queue_next(q) == NULL)
            continue;
        if (q->rank < a->queue->rank)
            was_top = false;
        else if (q->rank > a->queue->rank)
            lower_waits = true;
    }
    if (!was_top)
        p->flow.share_credit -= 1;
    else if (!lower_waits)
        p->flow.share_credit = 0; /* the lowest priority with tasks had its turn: none starves */
    else if (p->flow.share_credit < 1)
        p->flow.share_credit += p->settings.share;
}
