#include "dispatch/rate/adapt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "dispatch/rate/busy.h"

#define BURST_PART 5 /* burst of a rate that nobody configured: a fifth of a second */
#define LOG_DOWN 0.8 /* the log has a line when the window has moved by this factor, */
#define LOG_UP 1.25  /* or by this one */
#define REFUSED_GATE_NS 10000000000LL

static const char *const reasons[] = {[PACE_NOTHING] = "none",
                                      [PACE_RUN_TIME] = "run_time",
                                      [PACE_FAILURES] = "failures",
                                      [PACE_LOAD] = "load"};

static struct pace_limits limits(const struct adapt *a, int64_t most)
{
    const struct settings *s = a->settings;
    return (struct pace_limits){
        .rate = s->rate,
        .floor = s->rate_floor,
        .tolerance = s->tolerance,
        .fail_ratio = s->fail_ratio,
        .most = most > 1 ? most : 1,
    };
}

static bool is_adapting(const struct adapt *a)
{
    return a->settings->adaptive && a->begun;
}

static double rate_now(const struct adapt *a)
{
    struct pace_limits l = limits(a, 1);
    return is_adapting(a) ? pace_rate(&a->pace, &l) : a->settings->rate;
}

static void begin(struct adapt *a, int64_t inflight, int64_t now_ns)
{
    pace_begin(&a->pace, inflight, now_ns);
    a->begun = true;
    a->workers.errors = 0;
    a->direction = 0;
    a->logged_window = (double)pace_window(&a->pace);
}

/* Within burst + configured rate · t whatever the window does: the bucket keeps what was saved up
 * at the rate before. */
static void set_bucket(struct adapt *a, int64_t now_ns)
{
    const struct settings *s = a->settings;
    double rate = rate_now(a), burst = s->rate > 0 ? s->burst : fmax(s->burst, rate / BURST_PART);
    if (rate != a->bucket->rate_per_s || burst != a->bucket->burst)
        bucket_set(a->bucket, rate, burst, now_ns);
}

/* ---- events ---- */

void adapt_lead(struct adapt *a)
{
    a->begun = false; /* adapt_has_room begins, once the tasks that workers have are adopted */
}

void adapt_abandon(struct adapt *a)
{
    a->begun = false;
    workers_free(&a->workers);
    metric_hide(a->metrics.limit, true);
    metric_hide(a->metrics.normal, true);
    metric_hide(a->metrics.reporting, true);
}

void adapt_settings(struct adapt *a, bool was_adaptive, bool ready, int64_t now_ns)
{
    if (!a->settings->adaptive || !was_adaptive)
        a->begun = false;
    if (a->settings->adaptive && ready && !a->begun)
        begin(a, 0, now_ns); /* not with what is in flight: no window has bounded that */
    set_bucket(a, now_ns);
}

bool adapt_has_room(struct adapt *a, int64_t inflight, int64_t now_ns)
{
    if (!a->settings->adaptive)
        return true;
    if (!a->begun) {
        begin(a, inflight, now_ns);
        set_bucket(a, now_ns);
    }
    if (inflight < pace_window(&a->pace))
        return true;
    pace_full(&a->pace);
    return false;
}

int64_t adapt_limit(const struct adapt *a)
{
    return is_adapting(a) ? pace_window(&a->pace) : 0;
}

bool adapt_holds_back(const struct adapt *a, int64_t inflight)
{
    return adapt_limit(a) > 0 && inflight >= adapt_limit(a);
}

double adapt_busy(const struct adapt *a, int64_t with_workers, int64_t open)
{
    const struct workers *w = &a->workers;
    if (w->capacity > 0 && w->capacity >= with_workers)
        return (double)w->busy / (double)w->capacity;
    return busy_ratio(with_workers, open);
}

void adapt_observe_ack(struct adapt *a, enum ack_kind kind, int64_t handed_ns, int64_t now_ns)
{
    /* A term is about the task, not about how busy the workers are. */
    bool ended = kind == ACK_ACK || kind == ACK_NEXT || kind == ACK_NAK;
    if (is_adapting(a) && ended && handed_ns != 0)
        pace_ended(&a->pace, kind != ACK_NAK, handed_ns, now_ns);
}

void adapt_timed_out(struct adapt *a)
{
    if (is_adapting(a))
        pace_timed_out(&a->pace);
}

void adapt_report(struct adapt *a, const char *worker, const char *schema, const void *data,
                  size_t bytes, int64_t now_ns)
{
    static struct log_gate gate;
    struct report r;
    struct problem problem;
    char buf[400];
    unsigned long suppressed;
    if (report_parse(&r, schema, data, bytes, &problem) == AX_OK) {
        workers_observe(&a->workers, worker, &r, now_ns);
        metric_add(a->metrics.reports, 1);
        return;
    }
    metric_add(a->metrics.refused, 1);
    if (log_gate_open(&gate, now_ns, REFUSED_GATE_NS, &suppressed)) {
        log_warn("worker report refused", "pool=%s worker=%s error=%s suppressed=%lu", a->pool,
                 worker, log_quote(problem.text, buf, sizeof(buf)), suppressed);
    }
}

/* ---- once a second ---- */

/* One line for each change of direction, not for each step. */
static void log_direction(struct adapt *a)
{
    double window = (double)pace_window(&a->pace);
    int direction = window <= LOG_DOWN * a->logged_window ? -1
                    : window >= LOG_UP * a->logged_window ? 1
                                                          : 0;
    if (direction == 0)
        return;
    a->logged_window = window;
    if (direction == a->direction)
        return;
    a->direction = direction;
    double normal_ms = pace_normal_s(&a->pace) * 1e3;
    if (direction < 0) {
        log_info("rate lowered",
                 "pool=%s reason=%s inflight_limit=%.0f rate=%.1f normal_run_ms=%.1f", a->pool,
                 reasons[a->why], window, rate_now(a), normal_ms);
    } else {
        log_info("rate raised", "pool=%s inflight_limit=%.0f rate=%.1f normal_run_ms=%.1f", a->pool,
                 window, rate_now(a), normal_ms);
    }
}

static void move(struct adapt *a, int64_t most, int64_t peak, int64_t now_ns)
{
    struct pace_limits l = limits(a, most);
    int64_t round_ns = a->pace.round.start_ns, before = pace_window(&a->pace);
    struct pace_observed o = {
        .load = workers_load(&a->workers, round_ns), .errors = a->workers.errors, .peak = peak};
    enum pace_why why = pace_tick(&a->pace, &l, &o, now_ns);
    if (why != PACE_NOTHING) {
        a->why = why;
        metric_add(a->metrics.lowered[why], 1);
    } else if (pace_window(&a->pace) > before) {
        metric_add(a->metrics.raised, 1);
    }
    if (a->pace.round.start_ns != round_ns)
        a->workers.errors = 0;
    log_direction(a);
}

static void show(struct adapt *a)
{
    bool adapts = adapt_limit(a) > 0;
    double normal_s = pace_normal_s(&a->pace);
    metric_set(a->metrics.limit, adapt_limit(a));
    metric_hide(a->metrics.limit, !adapts);
    metric_set_real(a->metrics.normal, normal_s);
    metric_hide(a->metrics.normal, !adapts || normal_s <= 0);
    metric_set(a->metrics.reporting, workers_count(&a->workers));
    metric_hide(a->metrics.reporting, false);
}

void adapt_tick(struct adapt *a, int64_t most, int64_t peak, bool paused, int64_t now_ns)
{
    workers_expire(&a->workers, now_ns);
    if (is_adapting(a) && !paused)
        move(a, most, peak, now_ns);
    else if (a->begun)
        pace_skip(&a->pace, now_ns);
    set_bucket(a, now_ns);
    show(a);
}

/* ---- life ---- */

void adapt_init(struct adapt *a, const char *pool, const struct settings *settings,
                struct bucket *bucket)
{
    struct adapt_metrics *m = &a->metrics;
    char labels[96];
    a->pool = pool;
    a->settings = settings;
    a->bucket = bucket;
    for (int i = PACE_RUN_TIME; i <= PACE_LOAD; i++) {
        snprintf(labels, sizeof(labels), "pool=\"%s\",reason=\"%s\"", pool, reasons[i]);
        m->lowered[i] = metrics_get(METRIC_COUNTER, "ax_rate_lowered_total",
                                    "Decreases of a rate that adapts.", labels);
    }
    snprintf(labels, sizeof(labels), "pool=\"%s\"", pool);
    m->raised = metrics_get(METRIC_COUNTER, "ax_rate_raised_total",
                            "Increases of a rate that adapts.", labels);
    m->limit = metrics_get(METRIC_GAUGE, "ax_inflight_limit", "Tasks that may be in flight now.",
                           labels);
    m->normal = metrics_get(METRIC_REAL, "ax_run_normal_seconds",
                            "Run time without pressure, as a rate that adapts takes it.", labels);
    m->reporting = metrics_get(METRIC_GAUGE, "ax_workers_reporting",
                               "Workers that have reported in the last 30 s.", labels);
    metric_hide(m->limit, true);
    metric_hide(m->normal, true);
    metric_hide(m->reporting, true);
    m->reports = metrics_get(METRIC_COUNTER, "ax_worker_reports_total",
                             "Reports of workers that were understood.", labels);
    m->refused = metrics_get(METRIC_COUNTER, "ax_worker_reports_refused_total",
                             "Reports of workers that were not.", labels);
}
