#include "cli/doctor/check_load.h"
#include "base/text/plural.h"

#include <inttypes.h>

#include "cli/doctor/check_pools.h"
#include "cli/doctor/check_streams.h"
#include "cli/output.h"

#define BUSY_HIGH 0.9
#define BUSY_LOW 0.2
#define GROWTH_AFTER_S 8   /* a shorter time says nothing */
#define GROWTH_TASKS 5     /* it grows when it is more than that … */
#define GROWTH_PART 0.02   /* … and more than this part of what waits */
#define HELD_BACK_PART 0.4 /* of the time that tasks waited */
#define FILLS_QUEUE_PART 2 /* a pool that has more than one in so many of a full queue */

static bool grows(const struct stats_pool *t)
{
    double rise = (double)t->minute.pending_rise;
    return t->minute.seconds >= GROWTH_AFTER_S && rise >= GROWTH_TASKS &&
           rise >= GROWTH_PART * (double)t->pending;
}

/* A full queue cannot grow: it stays full. */
static bool fills_a_queue(const struct view *v, const struct view_pool *p)
{
    for (int i = 0; i < v->stream_count; i++) {
        const struct view_stream *s = &v->streams[i];
        if (s->priority >= 0 && check_streams_is_full(s) && p->is_counted &&
            p->counts.queued[s->priority] * FILLS_QUEUE_PART > s->messages)
            return true;
    }
    return false;
}

static bool is_loaded(const struct view *v, const struct view_pool *p)
{
    const struct stats_pool *t = &p->stats;
    return !check_pools_is_paused(p) && t->pending != 0 && t->busy >= 0 &&
           (grows(t) || fills_a_queue(v, p));
}

static bool holds_back(const struct stats_pool *t, int64_t seconds)
{
    return seconds > 0 && (double)seconds >= HELD_BACK_PART * (double)t->minute.waited_s;
}

/* ---- why, where the workers are not the bottleneck; the first that holds is the reason */

static bool by_adaptive_rate(const struct view_pool *p, struct finding *f)
{
    const struct stats_pool *t = &p->stats;
    if (!holds_back(t, t->minute.limited_s) || t->inflight_limit <= 0)
        return false;
    finding_add(f,
                "; its rate has adapted to what its workers, and what they use, can stand (%" PRId64
                " tasks at a time)",
                t->inflight_limit);
    finding_fix(f, "look at the run times and errors of its workers, and at what they use");
    return true;
}

static bool by_rate(const struct view_pool *p, struct finding *f)
{
    const struct stats_pool *t = &p->stats;
    if (!holds_back(t, t->minute.limited_s))
        return false;
    finding_add(f, "; its rate (%g starts/s) is used up", t->rate_now);
    finding_fix(f, "ax pool set %s rate=%g, if what the workers use can stand it", p->name,
                t->rate_now * 2);
    return true;
}

static bool by_max_ack_pending(const struct view_pool *p, struct finding *f)
{
    const struct stats_pool *t = &p->stats;
    if (!holds_back(t, t->minute.capped_s))
        return false;
    finding_add(f, "; max_ack_pending (%" PRId64 ") is used up", t->max_ack_pending);
    finding_fix(f, "nats consumer edit AX_WORK %s --max-pending %" PRId64 " -f", p->name,
                t->max_ack_pending * 2);
    return true;
}

static bool by_groups(const struct view_pool *p, struct finding *f)
{
    if (!holds_back(&p->stats, p->stats.minute.grouped_s))
        return false;
    finding_add(f, "; what waits is of groups that have reached their limits");
    finding_fix(f,
                "as it should be, if that is what they are for; else ax pool set %s "
                "group_concurrency=… or group_rate=…",
                p->name);
    return true;
}

static bool by_nothing_known(const struct view_pool *p, struct finding *f)
{
    (void)p;
    finding_add(f, "; neither rate nor max_ack_pending holds it back: ax-dispatch or the server is "
                   "slow");
    finding_fix(f, "look at the processor time of ax-dispatch and nats-server, the server's disk, "
                   "and ax_queue_seconds");
    return true;
}

static bool (*const reasons[])(const struct view_pool *p, struct finding *f) = {
    by_adaptive_rate, by_rate, by_max_ack_pending, by_groups, by_nothing_known};

static void add_reason(const struct view_pool *p, struct finding *f)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i](p, f))
            return;
    }
}

/* ---- findings */

static bool workers_busy(const struct view *v, const struct view_pool *p, struct finding *f)
{
    const struct stats_pool *t = &p->stats;
    char ago[32];
    if (!is_loaded(v, p) || t->busy < BUSY_HIGH)
        return false;
    finding_seen(f,
                 "its workers are the bottleneck: they are %.0f%% busy, and %" PRId64
                 " task%s wait%s, %+" PRId64 " in %s",
                 100 * t->busy, t->pending, plural_s(t->pending), plural_verb(t->pending),
                 t->minute.pending_rise, output_span(t->minute.seconds, ago));
    finding_fix(
        f, "more workers, or more places for each, or faster tasks; a higher rate does not help");
    return true;
}

static void describe_waiting(const struct view_pool *p, const char *what, struct finding *f)
{
    const struct stats_pool *t = &p->stats;
    char ago[32];
    finding_seen(f,
                 "%s: workers are %.0f%% busy, but %" PRId64 " task%s wait%s, %+" PRId64 " in %s",
                 what, 100 * t->busy, t->pending, plural_s(t->pending), plural_verb(t->pending),
                 t->minute.pending_rise, output_span(t->minute.seconds, ago));
    add_reason(p, f);
}

static bool held_back(const struct view *v, const struct view_pool *p, struct finding *f)
{
    if (!is_loaded(v, p) || p->stats.busy > BUSY_LOW)
        return false;
    describe_waiting(p, "its tasks are held back before the workers", f);
    return true;
}

static bool pending_grows(const struct view *v, const struct view_pool *p, struct finding *f)
{
    if (!is_loaded(v, p) || p->stats.busy <= BUSY_LOW || p->stats.busy >= BUSY_HIGH)
        return false;
    describe_waiting(p, "more comes than is done", f);
    return true;
}

static const struct check_pools_row rows[] = {
    {SEVERITY_WARNING, "workers_busy", workers_busy},
    {SEVERITY_WARNING, "held_back", held_back},
    {SEVERITY_WARNING, "pending_grows", pending_grows},
};

void check_load(const struct view *v, const struct view_pool *p, struct findings *out)
{
    check_pools_run(rows, sizeof(rows) / sizeof(rows[0]), v, p, out);
}
