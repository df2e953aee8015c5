#include "cli/doctor/check_ends.h"

#include <inttypes.h>

#include "base/saturate.h"
#include "base/text/plural.h"
#include "cli/doctor/check_pools.h"
#include "cli/output.h"
#include "cli/streams/advice.h"

#define TIMEOUTS_MIN 3
#define TIMEOUTS_PART 0.05
#define RISING_BY 1.2

/* ---- time-outs */

/* Parts of the attempts that ended, 0 … 1. */
struct timeout_ratio {
    double now;    /* in the last minute */
    double before; /* in the four minutes before */
    double all;    /* in the last five */
};

static double ratio(int64_t timeouts, int64_t ended)
{
    return ended > 0 ? (double)timeouts / (double)ended : 0;
}

static struct timeout_ratio timeout_ratio(const struct view_pool *p)
{
    const struct stats_pool_recent *m = &p->stats.minute, *five = &p->stats.five_minutes;
    return (struct timeout_ratio){
        .now = ratio(m->timeouts, m->ended),
        .before = ratio(five->timeouts - m->timeouts, five->ended - m->ended),
        .all = ratio(five->timeouts, five->ended)};
}

static bool are_many(const struct view_pool *p, const struct timeout_ratio *r)
{
    return p->stats.five_minutes.timeouts >= TIMEOUTS_MIN &&
           (r->now >= TIMEOUTS_PART || r->all >= TIMEOUTS_PART);
}

static bool are_rising(const struct timeout_ratio *r)
{
    return r->now >= TIMEOUTS_PART && r->now > RISING_BY * r->before;
}

static void fix_timeouts(const struct view_pool *p, struct finding *f)
{
    const struct stats_pool_recent *five = &p->stats.five_minutes;
    char wait[32];
    if (2 * five->late_acks >= five->timeouts) {
        finding_fix(f,
                    "workers live and are too slow for ack_wait (%s): nats consumer edit AX_WORK "
                    "%s --wait DURATION -f, or let them say in-progress",
                    output_seconds(saturate_mul(p->stats.ack_wait_ms, 1000000), wait), p->name);
    } else {
        finding_fix(
            f,
            "workers die, hang or lose their connection: look at their logs, restarts and memory");
    }
}

static bool timeouts_rising(const struct view *v, const struct view_pool *p, struct finding *f)
{
    (void)v;
    struct timeout_ratio r = timeout_ratio(p);
    char ago[32];
    if (!are_many(p, &r) || !are_rising(&r))
        return false;
    finding_seen(f,
                 "its timeout ratio rises: %.0f%% of the attempts that ended in the last %s ended "
                 "in silence, %.0f%% before; %" PRId64 " were acked after all",
                 100 * r.now, output_span(p->stats.minute.seconds, ago), 100 * r.before,
                 p->stats.five_minutes.late_acks);
    fix_timeouts(p, f);
    return true;
}

static bool timeouts(const struct view *v, const struct view_pool *p, struct finding *f)
{
    (void)v;
    struct timeout_ratio r = timeout_ratio(p);
    char ago[32];
    if (!are_many(p, &r) || are_rising(&r))
        return false;
    finding_seen(f,
                 "%.0f%% of the attempts that ended in the last %s ended in silence; %" PRId64
                 " were acked after all",
                 100 * r.all, output_span(p->stats.five_minutes.seconds, ago),
                 p->stats.five_minutes.late_acks);
    fix_timeouts(p, f);
    return true;
}

/* ---- what `ax pool ls` advises, too */

static bool take_advice(bool given, const struct advice *advice, struct finding *f)
{
    if (given) {
        finding_seen(f, "%s", advice->text);
        finding_fix(f, "%s", advice->fix);
    }
    return given;
}

static bool declared_dead(const struct view *v, const struct view_pool *p, struct finding *f)
{
    (void)v;
    struct timeout_ratio r = timeout_ratio(p);
    struct advice advice;
    return !are_many(p, &r) &&
           take_advice(advice_late_acks(p->name, &p->stats, &advice), &advice, f);
}

static bool ack_wait_short(const struct view *v, const struct view_pool *p, struct finding *f)
{
    (void)v;
    struct advice advice;
    return take_advice(advice_ack_wait(p->name, &p->stats, &advice), &advice, f);
}

/* ---- the last five minutes */

static bool dead_letters(const struct view *v, const struct view_pool *p, struct finding *f)
{
    (void)v;
    const struct stats_pool_recent *five = &p->stats.five_minutes;
    char ago[32];
    finding_seen(f, "%" PRId64 " dead letter%s in the last %s", five->dead, plural_s(five->dead),
                 output_span(five->seconds, ago));
    finding_fix(f, "ax dead ls %s; put the cause right; ax dead retry --all --pool %s", p->name,
                p->name);
    return five->dead > 0;
}

static bool leases_lost(const struct view *v, const struct view_pool *p, struct finding *f)
{
    (void)v;
    const struct stats_pool_recent *five = &p->stats.five_minutes;
    char ago[32];
    finding_seen(f,
                 "its dispatcher lost the lease %" PRId64
                 " time%s in the last %s: nothing started until it had it again",
                 five->leases_lost, plural_s(five->leases_lost), output_span(five->seconds, ago));
    finding_fix(f, "the server did not answer, or ax-dispatch did not run, for --lease-ttl: disks, "
                   "memory, processor; or lengthen it");
    return five->leases_lost > 0;
}

static bool leases_lapsed(const struct view *v, const struct view_pool *p, struct finding *f)
{
    (void)v;
    const struct stats_pool_recent *five = &p->stats.five_minutes;
    char ago[32];
    finding_seen(f, "%" PRId64 " lease%s of queue messages came back in the last %s",
                 five->leases_lapsed, plural_s(five->leases_lapsed),
                 output_span(five->seconds, ago));
    finding_fix(f, "after a restart that is as it should be; else ax-dispatch or nats-server is "
                   "overloaded, or was away");
    return five->leases_lapsed > 0;
}

static const struct check_pools_row rows[] = {
    {SEVERITY_WARNING, "declared_dead", declared_dead},
    {SEVERITY_WARNING, "timeouts_rising", timeouts_rising},
    {SEVERITY_WARNING, "timeouts", timeouts},
    {SEVERITY_WARNING, "ack_wait_short", ack_wait_short},
    {SEVERITY_WARNING, "dead_letters", dead_letters},
    {SEVERITY_WARNING, "leases_lost", leases_lost},
    {SEVERITY_NOTE, "leases_lapsed", leases_lapsed},
};

void check_ends(const struct view *v, const struct view_pool *p, struct findings *out)
{
    if (p->stats.answered)
        check_pools_run(rows, sizeof(rows) / sizeof(rows[0]), v, p, out);
}
