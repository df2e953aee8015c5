#include "dispatch/pool/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/attempt/adopt.h"
#include "dispatch/attempt/attempt_ask.h"
#include "dispatch/attempt/record_writer.h"
#include "dispatch/attempt/verify.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/lead/catch_up.h"
#include "dispatch/pool/pump.h"

/* ---- life ---- */

static void add_metrics(struct pool *p)
{
    char labels[64];
    snprintf(labels, sizeof(labels), "pool=\"%s\"", p->name);
#define COUNTER(field, name, help) p->count.field = metrics_get(METRIC_COUNTER, name, help, labels)
    COUNTER(handed, "ax_handed_off_total", "Attempts handed to workers.");
    COUNTER(done, "ax_done_total", "Tasks finished.");
    COUNTER(retried, "ax_retried_total", "Further attempts scheduled.");
    COUNTER(timeouts, "ax_timeouts_total", "Attempts that ended without an ack.");
    COUNTER(overran, "ax_overran_total",
            "Attempts ended because they ran longer than their Ax-Timeout.");
    COUNTER(naks, "ax_naks_total", "Attempts that failed: the worker nak'ed them.");
    COUNTER(given_back, "ax_given_back_total",
            "Attempts that a worker gave back because it could not run them.");
    COUNTER(
        taken_back, "ax_taken_back_total",
        "Attempts taken back because no worker fetched them: expired, paused, or for too long.");
    COUNTER(removed, "ax_hand_offs_removed_total",
            "Hand-offs that somebody deleted from AX_WORK, and that nobody had acked.");
    COUNTER(unheard, "ax_unheard_ends_total",
            "Tasks taken for done because their hand-off was gone: no ack was heard.");
    COUNTER(
        too_large, "ax_too_large_total",
        "Times that a task could not be handed off: it is larger than the server's max_payload.");
    COUNTER(pulls_hasty, "ax_pulls_hasty_total",
            "Pulls that ask for a heartbeat more often than every 10 ms.");
    COUNTER(duplicates, "ax_duplicates_dropped_total",
            "Tasks dropped before their start: done before.");
    COUNTER(superseded_acks, "ax_late_acks_total",
            "Acks of superseded attempts that were honoured.");
    COUNTER(acks_refused, "ax_acks_refused_total",
            "Acks that fit no hand-off of the pool, and were not believed.");
    COUNTER(leases_expired, "ax_leases_lapsed_total", "Queue messages whose lease came back.");
    COUNTER(leases_lost, "ax_leases_lost_total",
            "Times that the lease of a pool was lost while it was led.");
    p->count.queue_seconds = metrics_get(METRIC_HISTOGRAM, "ax_queue_seconds",
                                         "From the task's entry into its queue to its hand-off.",
                                         labels);
    p->count.run_seconds = metrics_get(METRIC_HISTOGRAM, "ax_run_seconds",
                                       "From an attempt's hand-off to its ack.", labels);
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
    p->entry.unread = false;
    work_consumer_set_paused(p);
    groups_settings(p);
    adapt_settings(&p->adapt, was_adaptive, p->lead.ready, loop_now_ns(p->dispatch->loop));
    pump_soon(p);
}

void pool_rest_unread(struct pool *p)
{
    p->entry.unread = true;
    work_consumer_set_paused(p);
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
    work_consumer_provisioned(p);
    adopt_retry(p);
    pump_soon(p);
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
    unanswered_init(&p->flow.unanswered, loop_now_ns(d->loop));
    groups_lead(p);
    adapt_lead(&p->adapt);
    metric_set(p->count.led, 1);
    pool_stats_begin(p);
    adopt_retry(p); /* or pool_set_provisioned does */
}

bool pool_is_quiet(const struct pool *p)
{
    if (p->lead.adoption != NULL)
        return false;
    for (int i = 0; i < p->queue_count; i++) {
        for (const struct attempt *a = p->queues[i]->attempts; a != NULL; a = a->by_seq.next) {
            if (a->ask.pending)
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
        struct attempt *a, *tmp;
        puller_want(q->puller, 0);
        q->expired_leases = 0;
        HASH_ITER(by_seq, q->attempts, a, tmp)
            attempt_abandon(a);
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

bool pool_has_tasks(const struct pool *p)
{
    /* A pool that may start holds what waits; of a paused one only the counts are known. */
    return p->lead.led &&
           (HASH_CNT(by_id, p->by_id) > 0 || (p->paused && pool_stats_pending(p) > 0));
}

static void hide_metrics(struct pool *p, bool hidden)
{
    char label[64];
    snprintf(label, sizeof(label), "pool=\"%s\"", p->name);
    metrics_hide_labelled(label, hidden);
}

void pool_close(struct pool *p)
{
    leadership_close(&p->leadership);
    p->consumer = (struct work_consumer){
        .asking = p->consumer.asking, .max_ack_pending = 1, .ack_wait_ns = p->consumer.ack_wait_ns};
    hide_metrics(p, true);
}

void pool_reopen(struct pool *p)
{
    leadership_open(&p->leadership);
    hide_metrics(p, false);
    pool_stats_end(p); /* what only a leader knows stays hidden */
    adapt_abandon(&p->adapt);
}

/* What workers said meanwhile was not heard: nobody is silent who may have said something. */
static void forgive_silence(struct pool *p)
{
    int64_t now = loop_now_ns(p->dispatch->loop);
    for (struct attempt *a = p->by_work; a != NULL; a = a->by_work.next)
        verify_forgive_silence(a, now);
}

void pool_reconnected(struct pool *p)
{
    demand_forget(&p->flow.demand);
    forgive_silence(p);
    for (int i = 0; i < p->queue_count; i++)
        puller_reconnected(p->queues[i]->puller);
    p->consumer.told_ns = 0;
    if (p->lead.ready)
        work_consumer_read(p);
}

void pool_work_recreated(struct pool *p)
{
    struct attempt *a, *tmp;
    acks_forget_sequences(p);
    p->consumer.followed_ns = 0;
    /* Those that are being looked at find out by themselves: an answer for them is on its way. */
    HASH_ITER(by_work, p->by_work, a, tmp) {
        if (a->hand_off.epoch_ns != p->dispatch->work_epoch_ns)
            attempt_on(a, ATTEMPT_ON_WORK_RECREATED, NULL);
    }
    demand_forget(&p->flow.demand);
    work_consumer_read(p);
    pump_soon(p);
}

/* ---- what workers say ---- */

void pool_on_pull(struct pool *p, const struct pull_request *a)
{
    if (!p->lead.led)
        return;
    demand_add(&p->flow.demand, a, p->settings.batch, loop_now_ns(p->dispatch->loop));
    pump_soon(p);
}
