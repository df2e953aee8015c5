#include "dispatch/rate/pace.h"

#include <math.h>

#include "dispatch/rate/pace_judge.h"
#include "dispatch/rate/pace_normal.h"

#define ROUND_NS 900000000LL /* less than a second: a tick comes about once a second */
#define LEAST_FACTOR 0.5     /* of a decrease: from this */
#define MOST_FACTOR 0.95     /* to this */
#define LOAD_FACTOR 0.9      /* of a decrease for load */
#define GROW_PART 20         /* a step up is a 20th of the window, at least 1; */
#define GROW_STREAK 2        /* one more of these for each so many steps in a row, */
#define NEAR 0.8             /* but not from this part on of the window that was too much last */
#define PROBE_EVERY 15       /* rounds */
#define PROBE_FACTOR 0.85
#define BOTTOM_ROUNDS 5 /* rounds at the smallest window, then what presses is normal */
#define REST_ROUNDS 4   /* after a decrease, before the window grows again */
#define HEAD_ROOM 1.25  /* of the rate over what fills the window */
#define PACED_S 1.0     /* longer run times are not paced: the window alone bounds them */

static void new_round(struct pace *p, int64_t now_ns)
{
    /* What ends within one run time of a change of the window has run at the window before, or is a
     * short one. */
    if (p->same.window != p->window) {
        p->same.since_ns = now_ns + (int64_t)(p->last_s * 1e9);
        p->same.rounds = 0;
    }
    p->same.window = p->window;
    p->round = (struct pace_round){.start_ns = now_ns};
    p->start.quiet_ns = INT64_MAX;
}

void pace_begin(struct pace *p, int64_t inflight, int64_t now_ns)
{
    *p = (struct pace){.window = PACE_INITIAL,
                       .phase = PACE_STARTING,
                       .start.doubles_to = INFINITY,
                       .noise = PACE_NOISE_FIRST};
    if (inflight > PACE_INITIAL) {
        p->window = (double)inflight; /* the window that its last leader had come to */
        p->phase = PACE_STEADY;
    }
    new_round(p, now_ns);
    p->begun_ns = now_ns;
    p->start.quiet_ns = ROUND_NS;
}

void pace_ended(struct pace *p, bool ok, int64_t handed_ns, int64_t now_ns)
{
    struct pace_round *r = &p->round;
    if (now_ns < p->same.since_ns || handed_ns < p->begun_ns)
        return; /* it ran at another window most of the time */
    double s = fmax((double)(now_ns - handed_ns) / 1e9, 1e-6);
    r->ended++;
    r->sum_s += s;
    if (!ok) {
        r->failed++;
        return;
    }
    double ln = log(s);
    r->ok++;
    r->sum_ln += ln;
    r->sum_ln2 += ln * ln;
}

void pace_timed_out(struct pace *p)
{
    p->round.timed_out++;
}

void pace_full(struct pace *p)
{
    p->round.full = true;
}

void pace_skip(struct pace *p, int64_t now_ns)
{
    new_round(p, now_ns);
}

int64_t pace_window(const struct pace *p)
{
    return (int64_t)p->window;
}

double pace_normal_s(const struct pace *p)
{
    return p->normal.known ? p->normal.s : 0;
}

double pace_rate(const struct pace *p, const struct pace_limits *l)
{
    if (p->last_s <= 0)
        return l->rate;
    double s = fmin(p->normal.known ? fmin(p->last_s, p->normal.s) : p->last_s, PACED_S);
    double rate = fmax(HEAD_ROOM * p->window / s, l->floor);
    return l->rate > 0 ? fmin(rate, l->rate) : rate;
}

/* ---- moving ---- */

static double least_window(const struct pace *p, const struct pace_limits *l)
{
    double floor = l->rate > 0 ? fmin(l->floor, l->rate) : l->floor;
    return fmax(1, floor * pace_normal_s(p));
}

static void set_window(struct pace *p, const struct pace_limits *l, double window)
{
    p->window = fmax(1, fmin(fmax(floor(window + 0.5), ceil(least_window(p, l))), (double)l->most));
}

/* What this round shows is normal from now on: nothing presses any more. */
static void accept(struct pace *p, const struct pace_verdict *v)
{
    pace_normal_accept(p, v);
    p->phase = PACE_STEADY;
    p->growth.since_probe = 0;
}

/* Between normal and pressure, as differences of the mean logarithm of run times. */
static double middle(const struct pace *p, const struct pace_limits *l)
{
    return (pace_judge_normal_to(p, l) + pace_judge_pressure_from(p, l)) / 2;
}

static void remember(struct pace *p, enum pace_phase phase, enum pace_why why,
                     const struct pace_verdict *v)
{
    p->phase = phase;
    p->fall = (struct pace_fall){.why = why,
                                 .window = p->window,
                                 .ln = v->ln,
                                 .error = v->error,
                                 .failing = v->failing,
                                 .load = v->load};
}

/* What the window is multiplied by. */
static double factor(const struct pace *p, const struct pace_limits *l, enum pace_why why,
                     const struct pace_verdict *v)
{
    double f = why == PACE_RUN_TIME   ? exp(middle(p, l) - v->slower)
               : why == PACE_FAILURES ? 1 - (v->failing - p->normal.failing)
                                      : LOAD_FACTOR;
    return fmin(fmax(f, LEAST_FACTOR), MOST_FACTOR);
}

/* A round under pressure. Returns why the window was lowered, if it was. */
static enum pace_why lower(struct pace *p, const struct pace_limits *l, enum pace_why why,
                           const struct pace_verdict *v, int64_t peak)
{
    bool worse = why == PACE_RUN_TIME &&
                 v->ln - p->fall.ln > PACE_LIKELY * hypot(v->error, p->fall.error);
    if (p->phase != PACE_FALLING || p->fall.why != why || worse) {
        remember(p, PACE_FALLING, why, v);
    } else if (pace_judge_is_not_ours(p, v)) {
        double before = p->fall.window;
        accept(p, v);
        set_window(p, l, before);
        return PACE_NOTHING;
    }
    double was = p->window, used = fmin(was, fmax((double)peak, 1));
    set_window(p, l, fmin(used * factor(p, l, why, v), used - 1));
    if (p->window > was)
        p->window = was;
    if (p->window <= PROBE_FACTOR * was)
        p->growth.since_probe = 0;
    if (p->window < was) {
        p->fall.at_bottom = 0;
        p->growth.rest = REST_ROUNDS;
        p->growth.ceiling = why == PACE_RUN_TIME ? was : 0;
        p->growth.streak = 0;
        return why;
    }
    /* The window is as small as it may be, and the pressure stays: then that is normal, unless
     * nothing gets through at all. */
    if (++p->fall.at_bottom >= BOTTOM_ROUNDS &&
        (why != PACE_FAILURES || v->failing < PACE_ALL_FAIL))
        accept(p, v);
    return PACE_NOTHING;
}

/* A step up, larger after several in a row, but not near the window that was too much last. */
static void grow(struct pace *p, const struct pace_limits *l)
{
    struct pace_growth *g = &p->growth;
    if (p->window >= g->ceiling)
        g->ceiling = 0;
    bool far = g->ceiling == 0 || p->window < NEAR * g->ceiling;
    g->streak = far ? g->streak + 1 : 0;
    double step = fmax(1, floor(p->window / GROW_PART)) * (1 + g->streak / GROW_STREAK);
    set_window(p, l, p->window + step);
    g->stepped = true;
}

/* The window was used up, and nothing presses: probes, steps back a little, rests or grows. */
static void go_on_full(struct pace *p, const struct pace_limits *l, const struct pace_verdict *v,
                       bool calm)
{
    struct pace_growth *g = &p->growth;
    bool likely_slower = v->mean_slower - pace_judge_normal_to(p, l) > PACE_LIKELY * v->mean_unsure;
    if (++g->since_probe > PROBE_EVERY && p->window > 1 / (1 - PROBE_FACTOR)) {
        remember(p, PACE_PROBING, PACE_NOTHING, v);
        set_window(p, l, PROBE_FACTOR * p->window);
    } else if (v->timed && v->mean_slower > middle(p, l) && likely_slower) {
        set_window(p, l, p->window - 1);
        g->rest = REST_ROUNDS;
    } else if (g->rest > 0) {
        g->rest--;
    } else if (calm) {
        grow(p, l);
        return;
    }
    g->streak = 0;
}

/* A round without pressure. */
static void go_on(struct pace *p, const struct pace_limits *l, const struct pace_verdict *v)
{
    bool calm = v->mean_slower < pace_judge_normal_to(p, l) &&
                !pace_judge_is_loaded(p, v, PACE_LOAD_HOLD);
    bool full = p->round.full;
    pace_normal_learn(p, l, v);
    if (p->phase == PACE_STARTING && (calm || v->slower < PACE_LIKELY * v->unsure)) {
        if (full && p->window < p->start.doubles_to)
            set_window(p, l, fmin(2 * p->window, p->start.doubles_to));
        if (p->window < p->start.doubles_to)
            return;
    }
    /* What failed does not fail any more: until close to the window where it did nothing has to be
     * tried out. */
    if (p->phase == PACE_FALLING && p->fall.why == PACE_FAILURES &&
        p->window < p->fall.window / 2) {
        p->phase = PACE_STARTING;
        p->start.doubles_to = floor(0.75 * p->fall.window);
        return;
    }
    p->phase = PACE_STEADY;
    if (full)
        go_on_full(p, l, v, calm);
    else
        p->growth.streak = 0;
}

static void end_probe(struct pace *p, const struct pace_limits *l, const struct pace_verdict *v)
{
    pace_normal_learn_probe(p, v);
    p->phase = PACE_STEADY;
    p->growth.since_probe = 0;
    set_window(p, l, p->fall.window);
}

/* The round goes on, unless load decides: that is known without any attempt that ended. */
static enum pace_why tick_within_round(struct pace *p, const struct pace_limits *l,
                                       const struct pace_verdict *v, int64_t peak, int64_t now_ns)
{
    const struct pace_round *r = &p->round;
    if (pace_judge_is_loaded(p, v, PACE_LOAD_PRESSURE)) {
        enum pace_why why = lower(p, l, PACE_LOAD, v, peak);
        new_round(p, now_ns);
        return why;
    }
    if (p->phase == PACE_STARTING && r->full && r->ended + r->timed_out == 0 &&
        now_ns - p->begun_ns >= p->start.quiet_ns) {
        /* Long tasks: nothing is known as long as they run, and waiting for the first of them would
         * leave workers idle. */
        set_window(p, l, p->window + PACE_INITIAL);
        p->start.quiet_ns = 2 * (now_ns - p->begun_ns);
    }
    return PACE_NOTHING;
}

/* Run times are a little long, and no step up explains it: may be a hiccup, so wait for one more
 * round. */
static bool is_doubtful(const struct pace *p, const struct pace_limits *l, enum pace_why by,
                        const struct pace_verdict *v)
{
    return by == PACE_RUN_TIME && p->phase == PACE_STEADY && !p->growth.stepped &&
           !p->growth.doubted && v->slower < 2 * pace_judge_pressure_from(p, l);
}

static enum pace_why end_round(struct pace *p, const struct pace_limits *l,
                               const struct pace_verdict *v, int64_t peak)
{
    enum pace_why by = pace_judge_pressure(p, l, v), why = PACE_NOTHING;
    if (p->round.ended > 0)
        p->last_s = p->round.sum_s / p->round.ended;
    pace_normal_learn_noise(p, v);
    p->growth.doubted = is_doubtful(p, l, by, v);
    p->growth.stepped = false;
    if (p->growth.doubted)
        p->growth.streak = 0;
    else if (p->phase == PACE_PROBING && by != PACE_FAILURES)
        end_probe(p, l, v);
    else if (by != PACE_NOTHING)
        why = lower(p, l, by, v, peak);
    else
        go_on(p, l, v);
    return why;
}

enum pace_why pace_tick(struct pace *p, const struct pace_limits *l, const struct pace_observed *o,
                        int64_t now_ns)
{
    struct pace_verdict v = {.load = o->load};
    set_window(p, l, p->window);
    if (now_ns - p->round.start_ns < ROUND_NS)
        return PACE_NOTHING;
    if (p->round.ended + p->round.timed_out >= PACE_ROUND_MIN)
        v = pace_judge(p, o);
    if (!pace_judge_is_over(p, l, &v))
        return tick_within_round(p, l, &v, o->peak, now_ns);
    enum pace_why why = end_round(p, l, &v, o->peak);
    new_round(p, now_ns);
    return why;
}
