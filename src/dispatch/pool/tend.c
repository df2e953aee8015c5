#include "dispatch/pool/tend.h"

#include "dispatch/attempt/adopt.h"
#include "dispatch/attempt/verify.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/order_check.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"

#define RENEWALS_PER_LEASE 3
#define INFO_EVERY_NS 5000000000LL
#define SWEEP_EVERY_NS 10000000000LL
#define MARGIN_NS 2000000000LL

static void tend_staged(struct queue *q, int64_t now, int64_t every_ns)
{
    for (struct attempt *a = q->staged_head; a != NULL; a = a->links.next) {
        if (now - a->lease.renewed_ns >= every_ns)
            attempt_renew(a);
    }
}

/* Its lease must have come back: a pull is open for it. Where it does not come its queue message
 * may be gone (the answer to its ack was lost): verified, once in a while. Until it is forgotten no
 * other message of its id is started. */
static void tend_overdue(struct attempt *a, int64_t now)
{
    int64_t overdue_ns = 2 * a->pool->consumer.ack_wait_ns + MARGIN_NS;
    a->queue->expired_leases++;
    if (now - a->lease.renewed_ns <= overdue_ns || now - a->lease.verified_ns <= overdue_ns)
        return;
    a->lease.verified_ns = now;
    attempt_on(a, ATTEMPT_ON_OVERDUE, NULL);
}

/* Renews what only waits in AX_WORK, or takes it back; counts what must have come back, so that a
 * pull is open for it. */
static void tend_running(struct queue *q, int64_t now, int64_t every_ns)
{
    struct pool *p = q->pool;
    struct attempt *a, *tmp;
    bool informed = now - p->consumer.told_ns < INFO_EVERY_NS;
    HASH_ITER(by_seq, q->attempts, a, tmp) {
        bool overdue = now - a->lease.renewed_ns > p->consumer.ack_wait_ns + MARGIN_NS;
        bool may_verify = a->state == ATTEMPT_RUNNING || a->state == ATTEMPT_LEFT ||
                          a->state == ATTEMPT_LOST;
        bool unfetched = a->state == ATTEMPT_RUNNING && informed &&
                         a->hand_off.seq > p->consumer.delivered_seq;
        if (unfetched && verify_wants_back(a))
            attempt_on(a, ATTEMPT_ON_UNFETCHED, NULL);
        else if (unfetched && now - a->lease.renewed_ns >= every_ns)
            attempt_renew(a);
        else if (may_verify && overdue)
            tend_overdue(a, now);
        else if (a->state == ATTEMPT_LOST)
            q->expired_leases++;
    }
}

/* Something may be wanted soon, or is held although nobody seems to want it: the server's counts
 * are worth a question. */
static bool is_busy(const struct pool *p)
{
    for (int i = 0; i < p->queue_count; i++) {
        if (p->queues[i]->staged > 0)
            return true;
    }
    return p->flow.inflight > 0 || p->flow.demand.count > 0;
}

void tend_pool(struct pool *p)
{
    int64_t now = loop_now_ns(p->dispatch->loop);
    int64_t every_ns = p->consumer.ack_wait_ns / RENEWALS_PER_LEASE;
    acks_expire(p);
    adopt_retry(p);
    if (!p->lead.ready)
        return;
    for (int i = 0; i < p->queue_count; i++) {
        p->queues[i]->expired_leases = 0;
        tend_staged(p->queues[i], now, every_ns);
        tend_running(p->queues[i], now, every_ns);
    }
    p->flow.peak -= (p->flow.peak - p->flow.inflight) / 8 + (p->flow.peak > p->flow.inflight);
    metric_set(p->count.inflight, p->flow.inflight);
    adapt_tick(&p->adapt, p->consumer.max_ack_pending, p->flow.peak, p->paused, now);
    pool_stats_tick(p);
    order_check_tick(p);
    metric_set(p->count.groups, HASH_COUNT(p->groups));
    if (now - p->consumer.told_ns >= (is_busy(p) ? INFO_EVERY_NS / 5 : INFO_EVERY_NS))
        work_consumer_read(p);
    if (HASH_CNT(by_id, p->by_id) == 0 && now - p->lead.swept_ns >= SWEEP_EVERY_NS)
        adopt_sweep(p);
    pump_soon(p);
}
