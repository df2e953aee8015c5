#include "dispatch/pool/pool.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "dispatch/attempt/record_writer.h"
#include "dispatch/dispatch.h"
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
    int64_t ready = demand_grantable(&p->demand, p->settings.batch, STAGE_MAX, now);
    if (ready < p->peak)
        ready = p->peak;
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
    return unanswered_are_due(&p->unanswered, &p->bucket, p->answer_ns, now);
}

static void pump(void *arg)
{
    struct pool *p = arg;
    struct dispatch *d = p->dispatch;
    if (!p->ready || p->resting ||
        !catch_up_suffices(p)) /* "not done" counts only when all records are known */
        return;
    /* whether there is any demand or not: tokens may come again */
    answers_are_due(p, loop_now_ns(d->loop));
    while (!p->paused && adapt_has_room(p) && pipeline_room(d->pipeline) > PIPELINE_SPARE) {
        int64_t now = loop_now_ns(d->loop);
        struct pull *pull = demand_next(&p->demand, p->settings.batch, now);
        struct attempt *r = pull != NULL ? order_next(p) : NULL;
        if (r == NULL) {
            p->stats.held_by_groups = pull != NULL;
            if (pull != NULL && order_is_refilling(p)) {
                loop_timer_start_ns(d->loop, &p->pump_timer, ORDER_REFILL_WAIT_NS, on_pump_timer,
                                    p);
            }
            break;
        }
        if (answers_are_due(p, now))
            break;
        if (!bucket_take(&p->bucket, now)) {
            p->stats.short_of_tokens = true;
            loop_timer_start_ns(d->loop, &p->pump_timer, bucket_wait_ns(&p->bucket, now),
                                on_pump_timer, p);
            break;
        }
        p->stats.short_of_tokens = p->stats.held_by_groups = false;
        order_taken(p, r);
        group_queue_take(r);
        queue_unstage(r);
        if (r->queue->staged == 0)
            r->queue->behind_ns = now;
        demand_take(&p->demand, pull);
        r->pull = pull;
        r->token = true;
        r->token_ns = now;
        p->unanswered.count++;
        r->counted = true;
        p->inflight++;
        if (p->inflight > p->peak)
            p->peak = p->inflight;
        hand_off_start(r);
        if (r->state == ATTEMPT_STAGED) /* put back: its timer brings us here again */
            break;
    }
    refill(p);
}

void pool_pump(struct pool *p)
{
    loop_do_later(p->dispatch->loop, &p->pump, pump, p);
}

/* ---- what workers say ---- */

void pool_on_pull(struct pool *p, const struct pull_request *r)
{
    if (!p->led)
        return;
    demand_add(&p->demand, r, p->settings.batch, loop_now_ns(p->dispatch->loop));
    pool_pump(p);
}

/* ---- paused? ---- */

static void set_paused(struct pool *p)
{
    bool paused = p->settings.paused || p->consumer_paused;
    if (paused != p->paused) {
        log_info(paused ? "pool paused" : "pool goes on", "pool=%s by=%s", p->name,
                 p->settings.paused   ? "settings"
                 : p->consumer_paused ? "consumer"
                                      : "none");
    }
    p->paused = paused;
    metric_set(p->m_paused, paused);
}

/* ---- leases and the consumer's info ---- */

static void tend_staged(struct queue *q, int64_t now, int64_t every_ns)
{
    for (struct attempt *r = q->staged_head; r != NULL; r = r->next) {
        if (now - r->lease_ns >= every_ns)
            attempt_renew(r);
    }
}

/* Renews what only waits in AX_WORK, and counts what must have come back, so that a pull is open
 * for it. */
static void tend_running(struct queue *q, int64_t now, int64_t every_ns)
{
    struct pool *p = q->pool;
    struct attempt *r, *tmp;
    bool informed = now - p->info_ns < INFO_EVERY_NS;
    HASH_ITER(by_seq, q->attempts, r, tmp) {
        if (r->state == ATTEMPT_LOST)
            q->expired_leases++;
        else if (r->state != ATTEMPT_RUNNING)
            continue;
        else if (informed && r->work_seq > p->delivered_seq && now - r->lease_ns >= every_ns)
            attempt_renew(r);
        else if (now - r->lease_ns > p->ack_wait_ns + MARGIN_NS) {
            int64_t overdue_ns = 2 * p->ack_wait_ns + MARGIN_NS;
            q->expired_leases++;
            if (now - r->lease_ns > overdue_ns && now - r->looked_ns > overdue_ns)
                verify_lease(r);
        }
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
    return p->inflight > 0 || p->demand.count > 0;
}

void pool_tick(struct pool *p)
{
    int64_t now = loop_now_ns(p->dispatch->loop);
    int64_t every_ns = p->ack_wait_ns / RENEWALS_PER_LEASE;
    if (!p->ready)
        return;
    for (int i = 0; i < p->queue_count; i++) {
        p->queues[i]->expired_leases = 0;
        tend_staged(p->queues[i], now, every_ns);
        tend_running(p->queues[i], now, every_ns);
    }
    p->peak -= (p->peak - p->inflight) / 8 + (p->peak > p->inflight);
    metric_set(p->m_inflight, p->inflight);
    adapt_tick(p);
    pool_stats_tick(p);
    ordered_tick(p);
    metric_set(p->m_groups, HASH_COUNT(p->groups));
    if (now - p->info_ns >= (is_busy(p) ? INFO_EVERY_NS / 5 : INFO_EVERY_NS))
        pool_read_info(p);
    if (HASH_CNT(by_id, p->by_id) == 0 && now - p->swept_ns >= SWEEP_EVERY_NS)
        adopt_sweep(p);
    pool_pump(p);
}

static void on_info(void *arg, const struct answer *a)
{
    struct pool *p = arg;
    json_t *root = a->err != AX_OK ? NULL
                                   : json_loadb(natsMsg_GetData(a->reply),
                                                (size_t)natsMsg_GetDataLength(a->reply), 0, NULL);
    json_t *config = json_object_get(root, "config");
    int64_t now = loop_now_ns(p->dispatch->loop);
    int64_t ts_ns;
    const char *ts = json_string_value(json_object_get(root, "ts"));
    p->info_pending = false;
    if (ts != NULL && clock_parse_rfc3339(ts, &ts_ns))
        clock_learn_answer(&p->dispatch->clock, ts_ns, p->info_asked_ns);
    if (config == NULL) {
        dispatch_kick(p->dispatch); /* no such consumer, or no leader */
    } else {
        int64_t max = json_integer_value(json_object_get(config, "max_ack_pending"));
        p->max_ack_pending = max > 0 ? max : INT64_MAX;
        p->ack_wait_ns = json_integer_value(json_object_get(config, "ack_wait"));
        p->delivered_seq = (uint64_t)json_integer_value(
            json_object_get(json_object_get(root, "delivered"), "stream_seq"));
        if (json_integer_value(json_object_get(config, "max_deliver")) != 1)
            dispatch_kick(p->dispatch);
        if (p->demand.changes == p->info_changes) {
            demand_reconcile(&p->demand, json_integer_value(json_object_get(root, "num_waiting")),
                             json_integer_value(json_object_get(root, "num_pending")),
                             p->settings.batch, now);
        }
        p->consumer_paused = json_is_true(json_object_get(root, "paused"));
        set_paused(p);
        p->info_ns = now;
    }
    json_decref(root);
    pool_pump(p);
}

void pool_read_info(struct pool *p)
{
    char api[128];
    if (p->info_pending)
        return;
    snprintf(api, sizeof(api), "$JS.API.CONSUMER.INFO." STREAM_WORK ".%s", p->name);
    p->info_changes = p->demand.changes;
    p->info_asked_ns = loop_now_ns(p->dispatch->loop);
    p->info_pending = pipeline_request(p->dispatch->pipeline, api, NULL, 0, INFO_WAIT_MS, on_info,
                                       p) == AX_OK;
}

/* ---- life ---- */

static void add_metrics(struct pool *p)
{
    char labels[64];
    snprintf(labels, sizeof(labels), "pool=\"%s\"", p->name);
#define COUNTER(field, name, help) p->field = metrics_get(METRIC_COUNTER, name, help, labels)
    COUNTER(m_handed, "ax_handed_off_total", "Attempts handed to workers.");
    COUNTER(m_done, "ax_done_total", "Tasks finished.");
    COUNTER(m_retried, "ax_retried_total", "Further attempts scheduled.");
    COUNTER(m_timeouts, "ax_timeouts_total", "Attempts that ended without a receipt.");
    COUNTER(m_overran, "ax_overran_total",
            "Attempts ended because they ran longer than their Ax-Timeout.");
    COUNTER(m_naks, "ax_naks_total", "Attempts the worker gave back.");
    COUNTER(m_duplicates, "ax_duplicates_dropped_total",
            "Tasks dropped before their start: done before.");
    COUNTER(m_late, "ax_late_acks_total", "Acks of superseded attempts that were honoured.");
    COUNTER(m_lapsed, "ax_leases_lapsed_total", "Queue messages whose lease came back.");
    COUNTER(m_leases_lost, "ax_leases_lost_total",
            "Times that the lease of a pool was lost while it was led.");
    p->m_queue_seconds = metrics_get(METRIC_HISTOGRAM, "ax_queue_seconds",
                                     "From the task's entry into its queue to its hand-off.",
                                     labels);
    p->m_run_seconds = metrics_get(METRIC_HISTOGRAM, "ax_run_seconds",
                                   "From an attempt's hand-off to its receipt.", labels);
    p->m_paused = metrics_get(METRIC_GAUGE, "ax_pool_paused", "1: nothing new is started.", labels);
    p->m_led = metrics_get(METRIC_GAUGE, "ax_pool_led", "1: this dispatcher leads the pool.",
                           labels);
    p->m_inflight = metrics_get(METRIC_GAUGE, "ax_inflight", "Tasks handed over and not ended.",
                                labels);
    p->m_groups = metrics_get(METRIC_GAUGE, "ax_groups_active",
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
    bucket_init(&p->bucket, p->settings.rate, p->settings.burst, loop_now_ns(d->loop));
    p->max_ack_pending = 1; /* until the consumer's info says more */
    p->ack_wait_ns = 30000000000LL;
    leadership_init(&p->leadership, p);
    terminations_init(&p->terminations, p);
    add_metrics(p);
    pool_stats_init(p);
    adapt_init(p);
    return p;
}

void pool_set_settings(struct pool *p, const struct settings *s)
{
    bool was_adaptive = p->settings.adaptive;
    p->settings = *s;
    set_paused(p);
    groups_settings(p);
    adapt_settings(p, was_adaptive);
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
    p->provisioned = true;
    if (p->led && !p->adopted && p->adoption == NULL)
        adopt_start(p);
    pool_pump(p);
}

/* ---- leading ---- */

void pool_lead(struct pool *p)
{
    struct dispatch *d = p->dispatch;
    p->led = true;
    p->resting = false;
    p->catch_up_need = catch_up_begin(d);
    p->share_credit = 0;
    p->led_ns = loop_now_ns(d->loop);
    p->led_rebuilds = p->rebuilds;
    p->peak = 0;
    p->info_ns = 0;
    /* empty */
    bucket_init(&p->bucket, p->settings.rate, p->settings.burst, loop_now_ns(d->loop));
    p->unanswered.since_ns = 0;
    groups_lead(p);
    adapt_lead(p);
    metric_set(p->m_led, 1);
    pool_stats_begin(p);
    if (p->provisioned)
        adopt_start(p);
    else
        dispatch_kick(d);
}

bool pool_is_quiet(const struct pool *p)
{
    if (p->adoption != NULL)
        return false;
    for (int i = 0; i < p->queue_count; i++) {
        for (const struct attempt *r = p->queues[i]->attempts; r != NULL; r = r->by_seq.next) {
            if (attempt_awaits_answer(r))
                return false;
        }
    }
    return true;
}

void pool_abandon(struct pool *p)
{
    struct loop *l = p->dispatch->loop;
    p->led = p->ready = p->adopted = p->resting = false;
    acks_keep(p);
    adopt_stop(p);
    loop_timer_stop(l, &p->pump_timer);
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
    hand_off_give_up(p->dispatch);
    ending_give_up(p->dispatch);
    record_writer_flush(p);
    demand_forget(&p->demand);
    pool_stats_end(p);
    adapt_abandon(p);
    metric_set(p->m_led, 0);
    metric_set(p->m_inflight, 0);
    metric_set(p->m_groups, 0);
}

bool pool_is_led_elsewhere(const struct pool *p)
{
    const struct leadership *l = &p->leadership;
    return !p->led && l->known && assignment_is_live(p->dispatch, l->stored.holder);
}

void pool_rest(struct pool *p)
{
    p->resting = true;
    for (int i = 0; i < p->queue_count; i++) {
        puller_want(p->queues[i]->puller, 0);
        while (p->queues[i]->staged_head != NULL) {
            struct attempt *r = p->queues[i]->staged_head;
            FAULT("stop.give-back.before");
            wire_publish_text(p->dispatch->wire, r->lease, NAK_LATER);
            FAULT_SENT("stop.give-back.after", p->dispatch->wire);
            attempt_free(r);
        }
    }
}

void pool_reconnected(struct pool *p)
{
    demand_forget(&p->demand);
    for (int i = 0; i < p->queue_count; i++)
        puller_reconnected(p->queues[i]->puller);
    p->info_ns = 0;
    if (p->ready)
        pool_read_info(p);
}

void pool_work_recreated(struct pool *p)
{
    struct attempt *r, *tmp;
    acks_forget_sequences(p);
    /* Those that are being looked at find out by themselves: an answer for them is on its way. */
    HASH_ITER(by_work, p->by_work, r, tmp) {
        if (r->state == ATTEMPT_RUNNING && r->epoch_ns != p->dispatch->work_epoch_ns)
            attempt_lose(r);
    }
    demand_forget(&p->demand);
    pool_read_info(p);
    pool_pump(p);
}
