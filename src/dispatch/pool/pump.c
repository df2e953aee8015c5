#include "dispatch/pool/pump.h"

#include "dispatch/attempt/hand_off.h"
#include "dispatch/dispatch.h"
#include "dispatch/lead/catch_up.h"
#include "dispatch/pool/order.h"
#include "dispatch/pool/pool.h"

#define STAGE_MAX 512     /* queue messages held ready per priority */
#define HOLD_MAX 100000   /* the same while groups take turns */
#define PIPELINE_SPARE 64 /* slots left for steps of ending */

static void on_timer(void *arg)
{
    pump_soon(arg);
}

static void refill(struct pool *p)
{
    int64_t now = loop_now_ns(p->dispatch->loop);
    int64_t ready = demand_grantable(&p->flow.demand, p->settings.batch, STAGE_MAX, now);
    if (ready < p->flow.peak)
        ready = p->flow.peak;
    ready = ready < 1 ? 1 : ready > STAGE_MAX ? STAGE_MAX : ready;
    for (int i = 0; i < p->queue_count; i++) {
        struct queue *q = p->queues[i];
        int64_t fits = (int64_t)(STAGE_BYTES / (q->body_bytes + 1)) + 1;
        int want = (int)(ready < fits ? ready : fits) - q->staged;
        if (queue_holds_all(q))
            want = q->staged + STAGE_MAX <= HOLD_MAX ? STAGE_MAX : HOLD_MAX - q->staged;
        puller_want(q->puller,
                    q->live ? (want > 0 && !p->paused ? want : 0) + q->expired_leases : 0);
    }
}

static bool has_room(struct pool *p)
{
    return adapt_has_room(&p->adapt, p->flow.inflight, loop_now_ns(p->dispatch->loop)) &&
           p->flow.inflight < p->consumer.max_ack_pending;
}

/* The next task to start, and in *pull the pull request it goes to. NULL: none may start now. */
static struct attempt *next(struct pool *p, struct pull **pull, int64_t now)
{
    struct loop *l = p->dispatch->loop;
    *pull = demand_next(&p->flow.demand, p->settings.batch, now);
    struct attempt *a = *pull != NULL ? order_next(p) : NULL;
    if (a != NULL)
        return a;
    p->stats.held_by_groups = *pull != NULL;
    if (*pull != NULL && order_is_refilling(p))
        loop_timer_start_ns(l, &p->flow.timer, ORDER_REFILL_WAIT_NS, on_timer, p);
    return NULL;
}

/* Nanoseconds until there is a token for a start; 0: there is one; INT64_MAX: not before an answer
 * comes. */
static int64_t wait_for_token(struct pool *p, int64_t now)
{
    struct pool_flow *f = &p->flow;
    if (bucket_available(&f->bucket, now) < 1) {
        p->stats.short_of_tokens = true;
        return bucket_wait_ns(&f->bucket, now);
    }
    if (!unanswered_are_due(&f->unanswered, &f->bucket, f->answer_ns, now))
        return 0;
    return unanswered_wait_ns(&f->unanswered, &f->bucket, f->answer_ns);
}

static bool take_token(struct pool *p, int64_t now)
{
    int64_t wait_ns = wait_for_token(p, now);
    if (wait_ns != 0) {
        if (wait_ns != INT64_MAX)
            loop_timer_start_ns(p->dispatch->loop, &p->flow.timer, wait_ns, on_timer, p);
        return false;
    }
    bucket_take(&p->flow.bucket, now);
    p->stats.short_of_tokens = p->stats.held_by_groups = false;
    return true;
}

/* False: it was put back, and a timer tries again. */
static bool start(struct attempt *a, struct pull *pull, int64_t now)
{
    struct pool *p = a->pool;
    struct queue *q = a->queue;
    int64_t put_back = p->flow.put_back;
    order_taken(p, a);
    group_queue_take(a);
    queue_unstage(a);
    if (q->staged == 0)
        q->behind_ns = now;
    demand_take(&p->flow.demand, pull);
    hand_off_start(a, pull, now);
    return p->flow.put_back == put_back;
}

static void run(void *arg)
{
    struct pool *p = arg;
    struct pull *pull;
    /* "Not done" counts only when all records are known. */
    if (!p->lead.ready || p->lead.resting || !catch_up_suffices(p))
        return;
    while (!p->paused && has_room(p) && pipeline_room(p->dispatch->pipeline) > PIPELINE_SPARE) {
        int64_t now = loop_now_ns(p->dispatch->loop);
        struct attempt *a = next(p, &pull, now);
        if (a == NULL || !take_token(p, now) || !start(a, pull, now))
            break;
    }
    refill(p);
}

void pump_soon(struct pool *p)
{
    loop_do_later(p->dispatch->loop, &p->flow.pump, run, p);
}
