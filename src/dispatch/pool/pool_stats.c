#include "dispatch/pool/pool_stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/consumer_info.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"

#define PENDING_EVERY_NS 2000000000LL
#define PENDING_STALE_NS 15000000000LL
#define INFO_WAIT_MS 3000
#define BUSY_OVER_NS 15000000000LL
#define PAST_SPAN_NS 900000000000LL /* run times: over the last quarter to half hour */
#define ABSENCE_MAX_NS 30000000000LL
#define DEMAND_MAX (1 << 20)

/* ---- tasks that wait ---- */

static void set_pending(struct queue *q, int64_t pending)
{
    q->stats.pending = pending;
    q->stats.answered_ns = loop_now_ns(q->pool->dispatch->loop);
    metric_set(q->stats.m_pending, pending);
    metric_hide(q->stats.m_pending, false);
}

static void hide_pending(struct queue *q)
{
    q->stats.pending = -1;
    metric_hide(q->stats.m_pending, true);
}

/* Of the queue's un-acked messages, those that are not handed off wait: those that the server has
 * not delivered, that are held ready here, that were put off, and that a dead dispatcher had held.
 */
static void on_info(void *arg, ax_err err, const struct consumer_info *info)
{
    struct queue *q = arg;
    q->stats.asking = false;
    if (err != AX_OK || !q->pool->lead.ready)
        return;
    int64_t unfinished = info->num_pending + info->num_ack_pending;
    int64_t waits = unfinished - ((int64_t)HASH_CNT(by_seq, q->attempts) - q->staged);
    set_pending(q, waits > q->staged ? waits : q->staged);
}

/* Asks for the consumer's info now and then. A queue whose server has nothing more and of which
 * nothing is held needs no query: nothing waits in it. */
static void query_queue(struct queue *q, int64_t now)
{
    struct pool *p = q->pool;
    struct queue_stats *f = &q->stats;
    bool empty = q->staged == 0 && q->behind == 0 && q->expired_leases == 0 && !p->paused &&
                 f->pending == 0;
    if (empty) {
        set_pending(q, 0);
    } else if (!f->asking && now - f->asked_ns >= PENDING_EVERY_NS) {
        f->asked_ns = now;
        f->asking = consumer_info_get(p->dispatch->pipeline, p->dispatch->loop, q->stream, p->name,
                                      INFO_WAIT_MS, on_info, q) == AX_OK;
    }
    if (f->pending >= 0 && now - f->answered_ns > PENDING_STALE_NS)
        hide_pending(q);
}

int64_t pool_stats_pending(const struct pool *p)
{
    int64_t sum = 0;
    for (int i = 0; i < p->queue_count; i++)
        sum += p->queues[i]->stats.pending > 0 ? p->queues[i]->stats.pending : 0;
    return sum;
}

/* ---- the last minutes ---- */

static double counted(struct metric *m)
{
    return (double)metric_value(m);
}

static void note(struct pool *p, bool pending_is_known, int64_t now)
{
    struct pool_stats *f = &p->stats;
    double dead = 0;
    for (int i = 0; i < DEAD_REASONS; i++)
        dead += counted(f->m_dead[i]);
    double timeouts = counted(p->count.timeouts);
    const double value[HISTORY_SERIES] = {
        [POOL_SERIES_PENDING] = pending_is_known ? (double)pool_stats_pending(p) : NAN,
        [POOL_SERIES_ENDED] = counted(p->count.done) + counted(p->count.naks) +
                              counted(p->count.overran) + timeouts +
                              counted(f->m_dead[DEAD_TERMINATED]),
        [POOL_SERIES_TIMEOUTS] = timeouts,
        [POOL_SERIES_LATE_ACKS] = counted(p->count.superseded_acks),
        [POOL_SERIES_DEAD] = dead,
        [POOL_SERIES_EXPIRED] = counted(p->count.leases_expired),
        [POOL_SERIES_HANDED_OFF] = counted(p->count.handed),
        [SERIES_BUSY] = f->past->busy,
        [SERIES_BUSY_SEEN] = (double)f->past->busy_seen,
        [POOL_SERIES_LIMITED] = (double)f->past->limited,
        [POOL_SERIES_CAPPED] = (double)f->past->capped,
        [POOL_SERIES_WAITED] = (double)f->past->waited,
        [POOL_SERIES_GROUPED] = (double)f->past->grouped,
        [POOL_SERIES_LEASES_LOST] = counted(p->count.leases_lost),
    };
    history_note(&f->past->history, value, now);
}

static void show_past(struct pool *p)
{
    struct pool_stats *f = &p->stats;
    const struct history *h = &f->past->history;
    double seen = history_rise(h, SERIES_BUSY_SEEN, BUSY_OVER_NS);
    f->busy = seen > 0 ? history_rise(h, SERIES_BUSY, BUSY_OVER_NS) / seen : -1;
    metric_set_real(f->m_busy, f->busy);
    metric_hide(f->m_busy, f->busy < 0);
    double ended = history_rise(h, POOL_SERIES_ENDED, STATS_LONG_NS);
    metric_set_real(f->m_timeout_ratio,
                    ended > 0 ? history_rise(h, POOL_SERIES_TIMEOUTS, STATS_LONG_NS) / ended : 0);
    metric_hide(f->m_timeout_ratio, false);
}

static void show_now(struct pool *p, int64_t demand, int64_t now)
{
    struct pool_stats *f = &p->stats;
    bool limited = p->flow.bucket.rate_per_s > 0;
    metric_set(f->m_demand, demand);
    metric_set(f->m_pulls, p->flow.demand.count);
    metric_set_real(f->m_rate, p->flow.bucket.rate_per_s);
    metric_set(f->m_tokens, limited ? bucket_available(&p->flow.bucket, now) : 0);
    metric_set_real(f->m_ack_wait, (double)p->consumer.ack_wait_ns / 1e9);
    metric_set_real(f->m_lease_left, (double)(p->leadership.until_ns - now) / 1e9);
    metric_hide(f->m_demand, false);
    metric_hide(f->m_pulls, false);
    metric_hide(f->m_rate, !limited);
    metric_hide(f->m_tokens, !limited);
    metric_hide(f->m_ack_wait, false);
    metric_hide(f->m_lease_left, false);
}

static bool is_staged(const struct pool *p)
{
    for (int i = 0; i < p->queue_count; i++) {
        if (p->queues[i]->staged > 0)
            return true;
    }
    return false;
}

void pool_stats_tick(struct pool *p)
{
    struct past *past = p->stats.past;
    int64_t now = loop_now_ns(p->dispatch->loop);
    int64_t demand = demand_grantable(&p->flow.demand, p->settings.batch, DEMAND_MAX, now);
    bool known = true;
    for (int i = 0; i < p->queue_count; i++) {
        query_queue(p->queues[i], now);
        known = known && (p->queues[i]->stats.pending >= 0 || !p->queues[i]->live);
    }
    show_now(p, demand, now);
    if (past == NULL)
        return;
    double busy = adapt_busy(&p->adapt, p->flow.inflight - p->flow.demand.undelivered, demand);
    if (busy >= 0) {
        past->busy += busy;
        past->busy_seen++;
    }
    bool waits = pool_stats_pending(p) > 0;
    past->waited += waits;
    past->limited += waits && (p->stats.short_of_tokens ||
                               (demand > 0 && adapt_holds_back(&p->adapt, p->flow.inflight)));
    past->grouped += waits && p->stats.held_by_groups && demand > 0 && is_staged(p);
    past->capped += waits && p->flow.inflight >= p->consumer.max_ack_pending;
    note(p, known, now);
    show_past(p);
}

/* ---- acknowledgements ---- */

/* How long the worker was silent until now. */
static int64_t silence(int64_t handed_ns, int64_t heard_ns, int64_t now)
{
    return now - (heard_ns > handed_ns ? heard_ns : handed_ns);
}

static void observe_run(struct pool *p, int64_t run_ns, int64_t silence_ns, int64_t now)
{
    metric_observe_ns(p->count.run_seconds, run_ns);
    if (p->stats.past == NULL)
        return;
    window_observe(&p->stats.past->run, run_ns, now);
    window_observe(&p->stats.past->silence, silence_ns, now);
}

void pool_stats_observe_ack(struct attempt *a, enum ack_kind kind)
{
    if (kind == ACK_UNKNOWN)
        return;
    int64_t now = loop_now_ns(a->pool->dispatch->loop);
    if (a->hand_off.at_ns != 0) {
        int64_t passed = silence(a->hand_off.at_ns, a->hand_off.heard_ns, now);
        if (passed > a->hand_off.silence_ns)
            a->hand_off.silence_ns = passed;
    }
    if (kind == ACK_PROGRESS) {
        a->hand_off.heard_ns = now;
        metric_add(a->pool->stats.m_progress, 1);
    } else if (a->hand_off.at_ns != 0) {
        observe_run(a->pool, now - a->hand_off.at_ns, a->hand_off.silence_ns, now);
    }
}

void pool_stats_observe_superseded(struct pool *p, const struct superseded_ack *s)
{
    int64_t now = loop_now_ns(p->dispatch->loop);
    if (s->handed_ns != 0)
        observe_run(p, now - s->handed_ns, silence(s->handed_ns, s->heard_ns, now), now);
}

void pool_stats_dead(const struct attempt *a)
{
    metric_add(a->pool->stats.m_dead[a->end.why], 1);
}

/* ---- life ---- */

static struct metric *hidden(enum metric_kind kind, const char *name, const char *help,
                             const char *labels)
{
    struct metric *m = metrics_get(kind, name, help, labels);
    metric_hide(m, true);
    return m;
}

void pool_stats_init(struct pool *p)
{
    static const char *const reasons[] = {
#define X(name, text) text,
        DEAD_REASONS_LIST(X)
#undef X
    };
    struct pool_stats *f = &p->stats;
    char labels[96];
    f->busy = -1;
    for (int i = 0; i < DEAD_REASONS; i++) {
        snprintf(labels, sizeof(labels), "pool=\"%s\",reason=\"%s\"", p->name, reasons[i]);
        f->m_dead[i] = metrics_get(METRIC_COUNTER, "ax_dead_total", "Dead letters written.",
                                   labels);
    }
    snprintf(labels, sizeof(labels), "pool=\"%s\"", p->name);
    f->m_cancelled = metrics_get(METRIC_COUNTER, "ax_cancelled_total",
                                 "Tasks cancelled on request.", labels);
    f->m_put_off = metrics_get(METRIC_COUNTER, "ax_put_off_total",
                               "Times a task was put off because another of its id was under way.",
                               labels);
    f->m_progress = metrics_get(METRIC_COUNTER, "ax_progress_total",
                                "In-progress messages of workers.", labels);
    f->m_leases_taken = metrics_get(METRIC_COUNTER, "ax_leases_taken_total",
                                    "Times this dispatcher took the pool's lease.", labels);
    f->m_busy = hidden(METRIC_REAL, "ax_worker_busy_ratio",
                       "Part of the workers' places that was taken, over the last 15 seconds.",
                       labels);
    f->m_timeout_ratio = hidden(
        METRIC_REAL, "ax_task_timeout_ratio",
        "Part of the attempts that ended in silence, over the last five minutes.", labels);
    f->m_tokens = hidden(METRIC_GAUGE, "ax_tokens", "Starts saved up in the token bucket.", labels);
    f->m_rate = hidden(METRIC_REAL, "ax_rate_limit",
                       "Starts a second that the token bucket allows now.", labels);
    f->m_demand = hidden(METRIC_GAUGE, "ax_demand",
                         "Tasks that waiting pull requests may be granted.", labels);
    f->m_pulls = hidden(METRIC_GAUGE, "ax_pulls_waiting", "Pull requests of workers that wait.",
                        labels);
    f->m_ack_wait = hidden(METRIC_REAL, "ax_ack_wait_seconds", "Heartbeat time-out of workers.",
                           labels);
    f->m_lease_left = hidden(METRIC_REAL, "ax_lease_left_seconds",
                             "Until the lease runs out unless it is renewed.", labels);
}

void pool_stats_init_queue(struct queue *q)
{
    char labels[128];
    snprintf(labels, sizeof(labels), "pool=\"%s\",priority=\"%s\"", q->pool->name, q->priority);
    q->stats.m_pending = hidden(METRIC_GAUGE, "ax_pending_dispatch",
                                "Tasks in the queue that are not handed off.", labels);
    q->stats.pending = -1;
}

void pool_stats_begin(struct pool *p)
{
    struct pool_stats *f = &p->stats;
    int64_t now = loop_now_ns(p->dispatch->loop);
    bool is_new = f->past == NULL;
    if (is_new)
        f->past = calloc(1, sizeof(*f->past));
    if (f->past == NULL)
        return; /* the gauges of the last minutes stay hidden */
    /* after a longer absence: another has led it, and its history has a hole */
    if (is_new || now - f->past->history.newest.at_ns > ABSENCE_MAX_NS) {
        memset(f->past, 0, sizeof(*f->past));
        window_init(&f->past->run, PAST_SPAN_NS, now);
        window_init(&f->past->silence, PAST_SPAN_NS, now);
    }
    note(p, false, now);
}

void pool_stats_end(struct pool *p)
{
    struct pool_stats *f = &p->stats;
    struct metric *const gauges[] = {f->m_busy,     f->m_timeout_ratio, f->m_tokens,
                                     f->m_rate,     f->m_demand,        f->m_pulls,
                                     f->m_ack_wait, f->m_lease_left};
    for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
        metric_hide(gauges[i], true);
    for (int i = 0; i < p->queue_count; i++)
        hide_pending(p->queues[i]);
    f->busy = -1;
    f->short_of_tokens = f->held_by_groups = false;
}
