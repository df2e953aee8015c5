#include "dispatch/rate/adapt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "dispatch/rate/busy.h"

#define BURST_PART 5  /* of a rate that nobody configured: burst for a fifth of a second */
#define TOLD_DOWN 0.8 /* of the window: less is told in the log */
#define TOLD_UP 1.25
#define REFUSED_GATE_NS 10000000000LL

static const char *const reasons[] = {[PACE_NOTHING] = "none",
                                      [PACE_RUN_TIME] = "run_time",
                                      [PACE_FAILURES] = "failures",
                                      [PACE_LOAD] = "load"};

static struct pace_limits limits(const struct pool *p)
{
    const struct settings *s = &p->settings;
    return (struct pace_limits){
        .rate = s->rate,
        .floor = s->rate_floor,
        .tolerance = s->tolerance,
        .fail_ratio = s->fail_ratio,
        .most = p->consumer.max_ack_pending > 1 ? p->consumer.max_ack_pending : 1,
    };
}

static void begin(struct pool *p, int64_t inflight)
{
    struct adapt *a = &p->adapt;
    pace_begin(&a->pace, inflight, loop_now_ns(p->dispatch->loop));
    a->begun = true;
    a->errors = 0;
    a->direction = 0;
    a->told_window = (double)pace_window(&a->pace);
}

/* Within burst + configured rate · t whatever the window does: what was saved up keeps, at the rate
 * it was saved up with. */
static void set_bucket(struct pool *p)
{
    const struct settings *s = &p->settings;
    struct pace_limits l = limits(p);
    double rate = s->adaptive && p->adapt.begun ? pace_rate(&p->adapt.pace, &l) : s->rate;
    double burst = s->rate > 0 ? s->burst : fmax(s->burst, rate / BURST_PART);
    if (rate != p->flow.bucket.rate_per_s || burst != p->flow.bucket.burst)
        bucket_set(&p->flow.bucket, rate, burst, loop_now_ns(p->dispatch->loop));
}

/* ---- events ---- */

void adapt_lead(struct pool *p)
{
    p->adapt.begun = false; /* begins when what is with workers was adopted */
}

void adapt_abandon(struct pool *p)
{
    struct adapt *a = &p->adapt;
    a->begun = false;
    workers_free(&a->workers);
    metric_hide(a->m_limit, true);
    metric_hide(a->m_normal, true);
    metric_hide(a->m_reporting, true);
}

void adapt_settings(struct pool *p, bool was_adaptive)
{
    if (!p->settings.adaptive || !was_adaptive)
        p->adapt.begun = false;
    if (p->settings.adaptive && p->lead.ready && !p->adapt.begun)
        begin(p, 0); /* what is in flight now came about without a bound */
    set_bucket(p);
}

bool adapt_has_room(struct pool *p)
{
    struct adapt *a = &p->adapt;
    if (!p->settings.adaptive)
        return p->flow.inflight < p->consumer.max_ack_pending;
    if (!a->begun) {
        begin(p, p->flow.inflight);
        set_bucket(p);
    }
    int64_t window = pace_window(&a->pace);
    if (p->flow.inflight < window)
        return p->flow.inflight < p->consumer.max_ack_pending;
    pace_full(&a->pace);
    return false;
}

int64_t adapt_limit(const struct pool *p)
{
    return p->settings.adaptive && p->adapt.begun ? pace_window(&p->adapt.pace) : 0;
}

bool adapt_holds_back(const struct pool *p)
{
    return adapt_limit(p) > 0 && p->flow.inflight >= adapt_limit(p);
}

double adapt_busy(struct pool *p, int64_t demand)
{
    const struct workers *w = &p->adapt.workers;
    int64_t with_workers = p->flow.inflight - p->flow.demand.undelivered;
    if (w->capacity > 0 && w->capacity >= with_workers)
        return (double)w->busy / (double)w->capacity;
    return busy_ratio(with_workers, demand);
}

void adapt_receipt(const struct attempt *r, enum ack_kind kind)
{
    struct pool *p = r->pool;
    if (!p->settings.adaptive || !p->adapt.begun || r->hand_off.at_ns == 0)
        return;
    /* A term is about the task, not about how busy things are. */
    if (kind == ACK_ACK || kind == ACK_NEXT || kind == ACK_NAK) {
        pace_ended(&p->adapt.pace, kind != ACK_NAK, r->hand_off.at_ns,
                   loop_now_ns(p->dispatch->loop));
    }
}

void adapt_timed_out(struct pool *p)
{
    if (p->settings.adaptive && p->adapt.begun)
        pace_timed_out(&p->adapt.pace);
}

void adapt_report(struct pool *p, const char *worker, const char *schema, const void *data,
                  size_t bytes)
{
    static struct log_gate gate;
    struct adapt *a = &p->adapt;
    struct report r;
    struct problem problem;
    char buf[400];
    unsigned long suppressed;
    int64_t now = loop_now_ns(p->dispatch->loop);
    if (report_parse(&r, schema, data, bytes, &problem) == AX_OK) {
        workers_heard(&a->workers, worker, &r, now);
        metric_add(a->m_reports, 1);
        return;
    }
    metric_add(a->m_refused, 1);
    if (log_gate_open(&gate, now, REFUSED_GATE_NS, &suppressed)) {
        log_warn("worker report refused", "pool=%s worker=%s error=%s suppressed=%lu", p->name,
                 worker, log_quote(problem.text, buf, sizeof(buf)), suppressed);
    }
}

/* ---- once a second ---- */

/* One line for each change of direction, not for each step. */
static void tell(struct pool *p)
{
    struct adapt *a = &p->adapt;
    double window = (double)pace_window(&a->pace);
    int direction = window <= TOLD_DOWN * a->told_window ? -1
                    : window >= TOLD_UP * a->told_window ? 1
                                                         : 0;
    if (direction == 0)
        return;
    a->told_window = window;
    if (direction == a->direction)
        return;
    a->direction = direction;
    struct pace_limits l = limits(p);
    double rate = pace_rate(&a->pace, &l), normal_ms = pace_normal_s(&a->pace) * 1e3;
    if (direction < 0) {
        log_info("rate lowered",
                 "pool=%s reason=%s inflight_limit=%.0f rate=%.1f normal_run_ms=%.1f", p->name,
                 reasons[a->why], window, rate, normal_ms);
    } else {
        log_info("rate raised", "pool=%s inflight_limit=%.0f rate=%.1f normal_run_ms=%.1f", p->name,
                 window, rate, normal_ms);
    }
}

static void move(struct pool *p, int64_t now)
{
    struct adapt *a = &p->adapt;
    struct pace_limits l = limits(p);
    int64_t round_ns = a->pace.round.start_ns, before = pace_window(&a->pace);
    struct workers_told told = workers_since(&a->workers, round_ns);
    a->errors += told.errors;
    struct pace_told t = {.load = told.load, .errors = a->errors, .peak = p->flow.peak};
    enum pace_why why = pace_tick(&a->pace, &l, &t, now);
    if (why != PACE_NOTHING) {
        a->why = why;
        metric_add(a->m_lowered[why], 1);
    } else if (pace_window(&a->pace) > before) {
        metric_add(a->m_raised, 1);
    }
    if (a->pace.round.start_ns != round_ns)
        a->errors = 0;
    tell(p);
}

static void show(struct pool *p)
{
    struct adapt *a = &p->adapt;
    bool adapts = adapt_limit(p) > 0;
    double normal_s = pace_normal_s(&a->pace);
    metric_set(a->m_limit, adapt_limit(p));
    metric_hide(a->m_limit, !adapts);
    metric_set_real(a->m_normal, normal_s);
    metric_hide(a->m_normal, !adapts || normal_s <= 0);
    metric_set(a->m_reporting, workers_count(&a->workers));
    metric_hide(a->m_reporting, false);
}

void adapt_tick(struct pool *p)
{
    struct adapt *a = &p->adapt;
    int64_t now = loop_now_ns(p->dispatch->loop);
    workers_tick(&a->workers, now);
    if (p->settings.adaptive && a->begun && !p->paused)
        move(p, now);
    else if (a->begun)
        pace_skip(&a->pace, now);
    set_bucket(p);
    show(p);
}

/* ---- life ---- */

void adapt_init(struct pool *p)
{
    struct adapt *a = &p->adapt;
    char labels[96];
    for (int i = PACE_RUN_TIME; i <= PACE_LOAD; i++) {
        snprintf(labels, sizeof(labels), "pool=\"%s\",reason=\"%s\"", p->name, reasons[i]);
        a->m_lowered[i] = metrics_get(METRIC_COUNTER, "ax_rate_lowered_total",
                                      "Decreases of a rate that adapts.", labels);
    }
    snprintf(labels, sizeof(labels), "pool=\"%s\"", p->name);
    a->m_raised = metrics_get(METRIC_COUNTER, "ax_rate_raised_total",
                              "Increases of a rate that adapts.", labels);
    a->m_limit = metrics_get(METRIC_GAUGE, "ax_inflight_limit", "Tasks that may be in flight now.",
                             labels);
    a->m_normal = metrics_get(METRIC_REAL, "ax_run_normal_seconds",
                              "Run time without pressure, as a rate that adapts takes it.", labels);
    a->m_reporting = metrics_get(METRIC_GAUGE, "ax_workers_reporting",
                                 "Workers that have reported in the last 30 s.", labels);
    metric_hide(a->m_limit, true);
    metric_hide(a->m_normal, true);
    metric_hide(a->m_reporting, true);
    a->m_reports = metrics_get(METRIC_COUNTER, "ax_worker_reports_total",
                               "Reports of workers that were understood.", labels);
    a->m_refused = metrics_get(METRIC_COUNTER, "ax_worker_reports_refused_total",
                               "Reports of workers that were not.", labels);
}
