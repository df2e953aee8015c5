#include "dispatch/pool/pool.h"
#include "dispatch/attempt/adopt.h"
#include "dispatch/attempt/attempt_ask.h"
#include "dispatch/attempt/hand_off.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/consumer_info.h"
#include "dispatch/attempt/record_writer.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/order_check.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/lead/catch_up.h"
#include "dispatch/pool/order.h"

#define STAGE_MAX 512     /* queue messages held ready per priority */
#define HOLD_MAX 100000   /* the same while groups take turns */
#define PIPELINE_SPARE 64 /* slots left for steps of ending */
#define RENEWALS_PER_LEASE 3
#define INFO_EVERY_NS 5000000000LL
#define INFO_WAIT_MS 3000
#define SWEEP_EVERY_NS 10000000000LL
#define MARGIN_NS 2000000000LL

/* ---- the scheduler ---- */

static void on_pump_timer(void *arg)
{
    pool_pump(arg);
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

static bool answers_are_due(struct pool *p, int64_t now)
{
    return unanswered_are_due(&p->flow.unanswered, &p->flow.bucket, p->flow.answer_ns, now);
}

static bool has_room(struct pool *p)
{
    return adapt_has_room(&p->adapt, p->flow.inflight, loop_now_ns(p->dispatch->loop)) &&
           p->flow.inflight < p->consumer.max_ack_pending;
}

static void pump(void *arg)
{
    struct pool *p = arg;
    struct dispatch *d = p->dispatch;
    if (!p->lead.ready || p->lead.resting ||
        !catch_up_suffices(p)) /* "not done" counts only when all records are known */
        return;
    /* whether there is any demand or not: tokens may come again */
    answers_are_due(p, loop_now_ns(d->loop));
    while (!p->paused && has_room(p) && pipeline_room(d->pipeline) > PIPELINE_SPARE) {
        int64_t now = loop_now_ns(d->loop);
        struct pull *pull = demand_next(&p->flow.demand, p->settings.batch, now);
        struct attempt *r = pull != NULL ? order_next(p) : NULL;
        if (r == NULL) {
            p->stats.held_by_groups = pull != NULL;
            if (pull != NULL && order_is_refilling(p)) {
                loop_timer_start_ns(d->loop, &p->flow.timer, ORDER_REFILL_WAIT_NS, on_pump_timer,
                                    p);
            }
            break;
        }
        if (answers_are_due(p, now))
            break;
        if (!bucket_take(&p->flow.bucket, now)) {
            p->stats.short_of_tokens = true;
            loop_timer_start_ns(d->loop, &p->flow.timer, bucket_wait_ns(&p->flow.bucket, now),
                                on_pump_timer, p);
            break;
        }
        p->stats.short_of_tokens = p->stats.held_by_groups = false;
        order_taken(p, r);
        group_queue_take(r);
        queue_unstage(r);
        if (r->queue->staged == 0)
            r->queue->behind_ns = now;
        demand_take(&p->flow.demand, pull);
        int64_t put_back = p->flow.put_back;
        hand_off_start(r, pull, now);
        if (p->flow.put_back != put_back) /* its timer brings us here again */
            break;
    }
    refill(p);
}

void pool_pump(struct pool *p)
{
    loop_do_later(p->dispatch->loop, &p->flow.pump, pump, p);
}

/* ---- what workers say ---- */

void pool_on_pull(struct pool *p, const struct pull_request *r)
{
    if (!p->lead.led)
        return;
    demand_add(&p->flow.demand, r, p->settings.batch, loop_now_ns(p->dispatch->loop));
    pool_pump(p);
}

/* ---- paused? ---- */

static void set_paused(struct pool *p)
{
    bool paused = p->settings.paused || p->consumer.paused;
    if (paused != p->paused) {
        log_info(paused ? "pool paused" : "pool goes on", "pool=%s by=%s", p->name,
                 p->settings.paused   ? "settings"
                 : p->consumer.paused ? "consumer"
                                      : "none");
    }
    p->paused = paused;
    metric_set(p->count.paused, paused);
}

/* ---- leases and the consumer's info ---- */

static void tend_staged(struct queue *q, int64_t now, int64_t every_ns)
{
    for (struct attempt *r = q->staged_head; r != NULL; r = r->links.next) {
        if (now - r->lease.renewed_ns >= every_ns)
            attempt_renew(r);
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

/* Renews what only waits in AX_WORK, and counts what must have come back, so that a pull is open
 * for it. */
static void tend_running(struct queue *q, int64_t now, int64_t every_ns)
{
    struct pool *p = q->pool;
    struct attempt *r, *tmp;
    bool informed = now - p->consumer.told_ns < INFO_EVERY_NS;
    HASH_ITER(by_seq, q->attempts, r, tmp) {
        bool overdue = now - r->lease.renewed_ns > p->consumer.ack_wait_ns + MARGIN_NS;
        bool may_verify = r->state == ATTEMPT_RUNNING || r->state == ATTEMPT_LEFT ||
                          r->state == ATTEMPT_LOST;
        if (r->state == ATTEMPT_RUNNING && informed &&
            r->hand_off.seq > p->consumer.delivered_seq && now - r->lease.renewed_ns >= every_ns)
            attempt_renew(r);
        else if (may_verify && overdue)
            tend_overdue(r, now);
        else if (r->state == ATTEMPT_LOST)
            q->expired_leases++;
    }
}

/* Something may be wanted soon, or is held although nobody seems to want it: the server's figures
 * are worth a question. */
static bool is_busy(const struct pool *p)
{
    for (int i = 0; i < p->queue_count; i++) {
        if (p->queues[i]->staged > 0)
            return true;
    }
    return p->flow.inflight > 0 || p->flow.demand.count > 0;
}

void pool_tick(struct pool *p)
{
    int64_t now = loop_now_ns(p->dispatch->loop);
    int64_t every_ns = p->consumer.ack_wait_ns / RENEWALS_PER_LEASE;
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
        pool_read_info(p);
    if (HASH_CNT(by_id, p->by_id) == 0 && now - p->lead.swept_ns >= SWEEP_EVERY_NS)
        adopt_sweep(p);
    pool_pump(p);
}

static void on_info(void *arg, ax_err err, const struct consumer_info *info)
{
    struct pool *p = arg;
    int64_t now = loop_now_ns(p->dispatch->loop);
    p->consumer.asking = false;
    if (err != AX_OK) {
        dispatch_kick(p->dispatch); /* no such consumer, or no leader */
    } else {
        p->consumer.max_ack_pending = info->max_ack_pending > 0 ? info->max_ack_pending : INT64_MAX;
        p->consumer.ack_wait_ns = info->ack_wait_ns;
        p->consumer.delivered_seq = info->delivered_stream_seq;
        if (info->max_deliver != 1)
            dispatch_kick(p->dispatch);
        if (p->flow.demand.changes == p->consumer.changes) {
            demand_reconcile(&p->flow.demand, info->num_waiting, info->num_pending,
                             p->settings.batch, now);
        }
        p->consumer.paused = info->paused;
        set_paused(p);
        p->consumer.told_ns = now;
    }
    pool_pump(p);
}

void pool_read_info(struct pool *p)
{
    struct dispatch *d = p->dispatch;
    if (p->consumer.asking)
        return;
    p->consumer.changes = p->flow.demand.changes;
    p->consumer.asking = consumer_info_get(d->pipeline, d->loop, STREAM_WORK, p->name, INFO_WAIT_MS,
                                           on_info, p) == AX_OK;
}

/* ---- life ---- */

static void add_metrics(struct pool *p)
{
    char labels[64];
    snprintf(labels, sizeof(labels), "pool=\"%s\"", p->name);
#define COUNTER(field, name, help) p->count.field = metrics_get(METRIC_COUNTER, name, help, labels)
    COUNTER(handed, "ax_handed_off_total", "Attempts handed to workers.");
    COUNTER(done, "ax_done_total", "Tasks finished.");
    COUNTER(retried, "ax_retried_total", "Further attempts scheduled.");
    COUNTER(timeouts, "ax_timeouts_total", "Attempts that ended without a receipt.");
    COUNTER(overran, "ax_overran_total",
            "Attempts ended because they ran longer than their Ax-Timeout.");
    COUNTER(naks, "ax_naks_total", "Attempts the worker gave back.");
    COUNTER(duplicates, "ax_duplicates_dropped_total",
            "Tasks dropped before their start: done before.");
    COUNTER(superseded_acks, "ax_late_acks_total",
            "Acks of superseded attempts that were honoured.");
    COUNTER(leases_expired, "ax_leases_lapsed_total", "Queue messages whose lease came back.");
    COUNTER(leases_lost, "ax_leases_lost_total",
            "Times that the lease of a pool was lost while it was led.");
    p->count.queue_seconds = metrics_get(METRIC_HISTOGRAM, "ax_queue_seconds",
                                         "From the task's entry into its queue to its hand-off.",
                                         labels);
    p->count.run_seconds = metrics_get(METRIC_HISTOGRAM, "ax_run_seconds",
                                       "From an attempt's hand-off to its receipt.", labels);
    p->count.paused = metrics_get(METRIC_GAUGE, "ax_pool_paused", "1: nothing new is started.",
                                  labels);
    p->count.led = metrics_get(METRIC_GAUGE, "ax_pool_led", "1: this dispatcher leads the pool.",
                               labels);
    p->count.inflight = metrics_get(METRIC_GAUGE, "ax_inflight", "Tasks handed over and not ended.",
                                    labels);
    p->count.groups = metrics_get(METRIC_GAUGE, "ax_groups_active",
                                  "Groups that have a task, or start again slowly.", labels);
#undef COUNTER
}

struct pool *pool_new(struct dispatch *d, const char *name)
{
    struct pool *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return NULL;
    p->dispatch = d;
    snprintf(p->name, sizeof(p->name), "%s", name);
    settings_default(&p->settings);
    bucket_init(&p->flow.bucket, p->settings.rate, p->settings.burst, loop_now_ns(d->loop));
    p->consumer.max_ack_pending = 1; /* until the consumer's info says more */
    p->consumer.ack_wait_ns = 30000000000LL;
    leadership_init(&p->leadership, p);
    terminations_init(&p->terminations, p);
    add_metrics(p);
    pool_stats_init(p);
    adapt_init(&p->adapt, p->name, &p->settings, &p->flow.bucket);
    return p;
}

void pool_set_settings(struct pool *p, const struct settings *s)
{
    bool was_adaptive = p->settings.adaptive;
    p->settings = *s;
    set_paused(p);
    groups_settings(p);
    adapt_settings(&p->adapt, was_adaptive, p->lead.ready, loop_now_ns(p->dispatch->loop));
    pool_pump(p);
}

static int by_rank(const void *a, const void *b)
{
    const struct queue *x = *(struct queue *const *)a, *y = *(struct queue *const *)b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->priority, y->priority);
}

void pool_set_priorities(struct pool *p, const struct priorities *ps)
{
    for (int i = 0; i < p->queue_count; i++)
        p->queues[i]->live = false;
    for (int i = 0; i < ps->count; i++) {
        struct queue *q = queue_of(p, ps->list[i].name);
        if (q == NULL) {
            queue_new(p, &ps->list[i]);
            q = queue_of(p, ps->list[i].name);
        }
        if (q != NULL) {
            q->rank = ps->list[i].rank;
            q->live = true;
        }
    }
    qsort(p->queues, (size_t)p->queue_count, sizeof(*p->queues), by_rank);
}

void pool_set_provisioned(struct pool *p)
{
    p->consumer.provisioned = true;
    if (p->lead.led && !p->lead.adopted && p->lead.adoption == NULL)
        adopt_start(p);
    pool_pump(p);
}

/* ---- leading ---- */

void pool_lead(struct pool *p)
{
    struct dispatch *d = p->dispatch;
    p->lead.led = true;
    p->lead.resting = false;
    p->lead.catch_up_need = catch_up_begin(d);
    p->flow.share_credit = 0;
    p->lead.since_ns = loop_now_ns(d->loop);
    p->order.led_rebuilds = p->order.rebuilds;
    p->flow.peak = 0;
    p->consumer.told_ns = 0;
    /* empty */
    bucket_init(&p->flow.bucket, p->settings.rate, p->settings.burst, loop_now_ns(d->loop));
    p->flow.unanswered.since_ns = 0;
    groups_lead(p);
    adapt_lead(&p->adapt);
    metric_set(p->count.led, 1);
    pool_stats_begin(p);
    if (p->consumer.provisioned)
        adopt_start(p);
    else
        dispatch_kick(d);
}

bool pool_is_quiet(const struct pool *p)
{
    if (p->lead.adoption != NULL)
        return false;
    for (int i = 0; i < p->queue_count; i++) {
        for (const struct attempt *r = p->queues[i]->attempts; r != NULL; r = r->by_seq.next) {
            if (r->ask.pending)
                return false;
        }
    }
    return true;
}

void pool_abandon(struct pool *p)
{
    struct loop *l = p->dispatch->loop;
    p->lead.led = p->lead.ready = p->lead.adopted = p->lead.resting = false;
    acks_keep(p);
    adopt_stop(p);
    loop_timer_stop(l, &p->flow.timer);
    loop_timer_stop(l, &p->occupancy_timer);
    ordered_forget(p);
    for (int i = 0; i < p->queue_count; i++) {
        struct queue *q = p->queues[i];
        struct attempt *r, *tmp;
        puller_want(q->puller, 0);
        q->expired_leases = 0;
        HASH_ITER(by_seq, q->attempts, r, tmp)
            attempt_abandon(r);
    }
    attempt_ask_give_up(p->dispatch);
    record_writer_flush(p);
    demand_forget(&p->flow.demand);
    pool_stats_end(p);
    adapt_abandon(&p->adapt);
    metric_set(p->count.led, 0);
    metric_set(p->count.inflight, 0);
    metric_set(p->count.groups, 0);
}

bool pool_is_led_elsewhere(const struct pool *p)
{
    const struct leadership *l = &p->leadership;
    return !p->lead.led && l->known && assignment_is_live(p->dispatch, l->stored.holder);
}

void pool_rest(struct pool *p)
{
    p->lead.resting = true;
    for (int i = 0; i < p->queue_count; i++) {
        puller_want(p->queues[i]->puller, 0);
        while (p->queues[i]->staged_head != NULL) {
            attempt_on(p->queues[i]->staged_head, ATTEMPT_ON_GIVEN_UP, NULL);
        }
    }
}

void pool_reconnected(struct pool *p)
{
    demand_forget(&p->flow.demand);
    for (int i = 0; i < p->queue_count; i++)
        puller_reconnected(p->queues[i]->puller);
    p->consumer.told_ns = 0;
    if (p->lead.ready)
        pool_read_info(p);
}

void pool_work_recreated(struct pool *p)
{
    struct attempt *r, *tmp;
    acks_forget_sequences(p);
    /* Those that are being looked at find out by themselves: an answer for them is on its way. */
    HASH_ITER(by_work, p->by_work, r, tmp) {
        if (r->hand_off.epoch_ns != p->dispatch->work_epoch_ns)
            attempt_on(r, ATTEMPT_ON_WORK_RECREATED, NULL);
    }
    demand_forget(&p->flow.demand);
    pool_read_info(p);
    pool_pump(p);
}
