#include "dispatch/rate/pace_judge.h"

#include <math.h>

#define ROUND_MAX 4     /* a round is this many times as long where run times differ very much */
#define FAIR_ERROR 0.08 /* of the mean logarithm: good enough for a step up */
#define JITTER_S 0.001  /* of what AX and the network add to a run time */
#define TIMED_MIN 8     /* finished tasks whose run times say something */
#define FAILED_MIN 5
#define LOAD_STEP 0.03 /* load that differs by less is the same */
/* Windows that differ so much tell whether run times depend on them. */
#define DISTINCT_FACTOR 1.25

struct pace_verdict pace_judge(const struct pace *p, const struct pace_observed *o)
{
    const struct pace_round *r = &p->round;
    struct pace_verdict v = {.timed = r->ok >= TIMED_MIN, .load = o->load};
    double ended = r->ended + r->timed_out, failed = fmax(r->failed, o->errors) + r->timed_out;
    v.failing = ended > 0 ? fmin(failed / ended, 1) : 0;
    v.many_failed = failed >= FAILED_MIN;
    if (v.timed) {
        v.ln = r->sum_ln / r->ok;
        v.error = fmax(sqrt(fmax(r->sum_ln2 / r->ok - v.ln * v.ln, 0) / r->ok), p->noise);
        v.slower = p->normal.known ? v.ln - p->normal.ln : 0;
        v.unsure = hypot(v.error, p->normal.error);
        v.mean_slower = (p->same.rounds * p->same.slower + v.slower) / (p->same.rounds + 1);
        v.mean_unsure = hypot(v.error / sqrt(p->same.rounds + 1), p->normal.error);
    }
    return v;
}

/* What AX and the network may add to the logarithm of a normal run time. */
static double allowance(const struct pace *p)
{
    return p->normal.known ? log1p(JITTER_S / p->normal.s) : 0;
}

double pace_judge_normal_to(const struct pace *p, const struct pace_limits *l)
{
    return log(l->tolerance) / 3 + allowance(p);
}

double pace_judge_pressure_from(const struct pace *p, const struct pace_limits *l)
{
    return log(l->tolerance) + allowance(p);
}

bool pace_judge_is_loaded(const struct pace *p, const struct pace_verdict *v, double least)
{
    return v->load > least && v->load > p->normal.load + LOAD_STEP;
}

static bool is_slower(const struct pace *p, const struct pace_limits *l, double slower,
                      double unsure)
{
    return slower > pace_judge_pressure_from(p, l) &&
           slower - pace_judge_normal_to(p, l) > PACE_SURE * unsure;
}

enum pace_why pace_judge_pressure(const struct pace *p, const struct pace_limits *l,
                                  const struct pace_verdict *v)
{
    if (v->many_failed && v->failing > p->normal.failing + l->fail_ratio)
        return PACE_FAILURES;
    if (v->timed &&
        (is_slower(p, l, v->slower, v->unsure) || is_slower(p, l, v->mean_slower, v->mean_unsure)))
        return PACE_RUN_TIME;
    return pace_judge_is_loaded(p, v, PACE_LOAD_PRESSURE) ? PACE_LOAD : PACE_NOTHING;
}

bool pace_judge_is_not_ours(const struct pace *p, const struct pace_verdict *v)
{
    bool halved = p->window <= p->fall.window / 2;
    switch (p->fall.why) {
    case PACE_RUN_TIME:
        /* Beyond the knee run times grow at least as the window does, below it they do not depend
         * on it. */
        return p->fall.window / p->window >= DISTINCT_FACTOR &&
               p->fall.ln - v->ln + PACE_LIKELY * hypot(v->error, p->fall.error) <
                   log(p->fall.window / p->window) / 2;
    case PACE_FAILURES:
        return halved && v->failing > 0.75 * p->fall.failing && v->failing < PACE_ALL_FAIL;
    case PACE_LOAD:
        /* it may have been far beyond what 1 can say */
        return p->window <= p->fall.window / 4 && v->load > p->fall.load - LOAD_STEP;
    default:
        return false;
    }
}

bool pace_judge_is_over(const struct pace *p, const struct pace_limits *l,
                        const struct pace_verdict *v)
{
    double got = p->round.ended + p->round.timed_out, wanted = fmax(PACE_ROUND_MIN, p->window);
    if (got < wanted)
        return false;
    return v->error <= FAIR_ERROR || got >= ROUND_MAX * wanted ||
           pace_judge_pressure(p, l, v) != PACE_NOTHING;
}
