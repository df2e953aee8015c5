#include "dispatch/rate/pace.h"

#include <math.h>

#define ROUND_NS 900000000LL /* a tick comes once a second, more or less */
#define ROUND_MIN 16         /* receipts to a round */
#define ROUND_MAX 4          /* times as many where they differ so much that less says nothing */
#define GOOD_ERROR 0.05      /* of the mean logarithm: as good as 5 % */
#define FAIR_ERROR 0.08      /* good enough for a step up */
#define SURE 3               /* standard errors */
#define LIKELY 2
#define JITTER_S 0.001      /* of what AX and the network add to a run time */
#define NOISE_STEP_MOST 0.2 /* what is more is an event */
#define NOISE_MOST 0.15
#define NOISE_PART 0.15 /* of the new in the estimate */
#define NOISE_FIRST 0.05
#define SAME_MOST 5 /* rounds at one window are averaged, about so many */
#define JUDGE_MIN 8 /* finished tasks whose run times say something */
#define LEAST_FACTOR 0.5
#define MOST_FACTOR 0.95
#define LOAD_FACTOR 0.9
#define LOAD_PRESSURE 0.95
#define LOAD_HOLD 0.85
#define LOAD_STEP 0.03
#define FAILED_MIN 5
#define ALL_FAIL 0.9
#define GROW_PART 20  /* a step up is a 20th of the window, at least 1; */
#define GROW_STREAK 2 /* one more of these for each so many steps in a row, */
#define NEAR 0.8      /* but not from here on to where it was too much the last time */
#define LOOK_EVERY 15 /* rounds */
#define LOOK_FACTOR 0.85
#define TOLD_APART 1.25 /* windows that differ so much tell whether run times depend on them */
#define BOTTOM_ROUNDS 5
#define REST_ROUNDS 4 /* after a decrease, before the window grows again */
#define HEAD_ROOM 1.25
#define PACED_S 1.0 /* longer run times are not paced: the window alone bounds them */

/* What a round came to. */
struct verdict {
    bool timed;       /* enough finished tasks to judge run times */
    double ln, error; /* mean logarithm of the run times, its standard error */
    double slower;    /* ln minus the normal one */
    double unsure;    /* standard error of that */
    /* the same over the last rounds at this window, this one included */
    double mean_slower, mean_unsure;
    double failing; /* part of the attempts that failed */
    double load;
    bool many_failed;
};

static void new_round(struct pace *p, int64_t now_ns)
{
    /* What ends within one run time of a change ran at the window before, or is one of the short
     * ones. */
    if (p->measured != p->window) {
        p->since_ns = now_ns + (int64_t)(p->last_s * 1e9);
        p->same = 0;
    }
    p->measured = p->window;
    p->round = (struct pace_round){.start_ns = now_ns};
    p->quiet_ns = INT64_MAX;
}

void pace_begin(struct pace *p, int64_t inflight, int64_t now_ns)
{
    *p = (struct pace){
        .window = PACE_INITIAL, .phase = PACE_STARTING, .known = INFINITY, .noise = NOISE_FIRST};
    if (inflight > PACE_INITIAL) {
        p->window = (double)inflight; /* what its last leader came to */
        p->phase = PACE_STEADY;
    }
    new_round(p, now_ns);
    p->begun_ns = now_ns;
    p->quiet_ns = ROUND_NS;
}

void pace_ended(struct pace *p, bool ok, int64_t handed_ns, int64_t now_ns)
{
    struct pace_round *r = &p->round;
    if (now_ns < p->since_ns || handed_ns < p->begun_ns)
        return; /* it ran at another window, mostly */
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
    return p->has_normal ? p->normal_s : 0;
}

double pace_rate(const struct pace *p, const struct pace_limits *l)
{
    if (p->last_s <= 0)
        return l->rate;
    double s = fmin(p->has_normal ? fmin(p->last_s, p->normal_s) : p->last_s, PACED_S);
    double rate = fmax(HEAD_ROOM * p->window / s, l->floor);
    return l->rate > 0 ? fmin(rate, l->rate) : rate;
}

/* ---- judging ---- */

/* How much of a round's word counts: less where its run times differ much. */
static double trust(const struct verdict *v)
{
    return fmin(1, pow(GOOD_ERROR / fmax(v->error, 1e-9), 2));
}

/* The part that the average of all rounds so far would take of one more (as in Kalman 1960). */
static double news(const struct pace *p, const struct verdict *v)
{
    double known = p->normal_error * p->normal_error, told = v->error * v->error;
    return known + told > 0 ? known / (known + told) : 1;
}

/* Moves what is normal to the round's run times, this part of the way. */
static void set_normal(struct pace *p, const struct verdict *v, double part)
{
    double mean_s = p->round.sum_s / p->round.ended;
    if (!p->has_normal)
        part = 1;
    p->has_normal = true;
    p->normal_ln += part * (v->ln - p->normal_ln);
    p->normal_s += part * (mean_s - p->normal_s);
    p->normal_error = hypot((1 - part) * p->normal_error, part * v->error);
}

static struct verdict judge(struct pace *p, const struct pace_told *t)
{
    const struct pace_round *r = &p->round;
    struct verdict v = {.timed = r->ok >= JUDGE_MIN, .load = t->load};
    double ended = r->ended + r->timed_out, failed = fmax(r->failed, t->errors) + r->timed_out;
    v.failing = ended > 0 ? fmin(failed / ended, 1) : 0;
    v.many_failed = failed >= FAILED_MIN;
    if (v.timed) {
        v.ln = r->sum_ln / r->ok;
        v.error = fmax(sqrt(fmax(r->sum_ln2 / r->ok - v.ln * v.ln, 0) / r->ok), p->noise);
        v.slower = p->has_normal ? v.ln - p->normal_ln : 0;
        v.unsure = hypot(v.error, p->normal_error);
        v.mean_slower = (p->same * p->same_slower + v.slower) / (p->same + 1);
        v.mean_unsure = hypot(v.error / sqrt(p->same + 1), p->normal_error);
    }
    return v;
}

/* Logarithms of how much longer run times may be: below the first they are normal, above the other
 * they are pressure. What AX and the network themselves take and do not take is no difference. */
static double allowance(const struct pace *p)
{
    return p->has_normal ? log1p(JITTER_S / p->normal_s) : 0;
}

static double alpha(const struct pace *p, const struct pace_limits *l)
{
    return log(l->tolerance) / 3 + allowance(p);
}

static double beta(const struct pace *p, const struct pace_limits *l)
{
    return log(l->tolerance) + allowance(p);
}

static bool is_loaded(const struct pace *p, const struct verdict *v, double least)
{
    return v->load > least && v->load > p->normal_load + LOAD_STEP;
}

static bool is_slower(const struct pace *p, const struct pace_limits *l, double slower,
                      double unsure)
{
    return slower > beta(p, l) && slower - alpha(p, l) > SURE * unsure;
}

static enum pace_why pressed_by(const struct pace *p, const struct pace_limits *l,
                                const struct verdict *v)
{
    if (v->many_failed && v->failing > p->normal_failing + l->fail_ratio)
        return PACE_FAILURES;
    if (v->timed &&
        (is_slower(p, l, v->slower, v->unsure) || is_slower(p, l, v->mean_slower, v->mean_unsure)))
        return PACE_RUN_TIME;
    return is_loaded(p, v, LOAD_PRESSURE) ? PACE_LOAD : PACE_NOTHING;
}

/* The window went down, and what was taken for its pressure stayed. */
static bool is_not_ours(const struct pace *p, const struct verdict *v)
{
    bool halved = p->window <= p->fall.window / 2;
    switch (p->fall.why) {
    case PACE_RUN_TIME:
        /* Beyond the knee run times grow at least as the window does, below it they do not depend
         * on it. */
        return p->fall.window / p->window >= TOLD_APART &&
               p->fall.ln - v->ln + LIKELY * hypot(v->error, p->fall.error) <
                   log(p->fall.window / p->window) / 2;
    case PACE_FAILURES:
        return halved && v->failing > 0.75 * p->fall.failing && v->failing < ALL_FAIL;
    case PACE_LOAD:
        /* it may have been far beyond what 1 can say */
        return p->window <= p->fall.window / 4 && v->load > p->fall.load - LOAD_STEP;
    default:
        return false;
    }
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

/* From now on this is what is normal. */
static void accept(struct pace *p, const struct verdict *v)
{
    if (v->timed)
        set_normal(p, v, 1);
    p->normal_failing = v->failing;
    p->normal_load = fmax(v->load, 0);
    p->phase = PACE_STEADY;
    p->unlooked = 0;
}

static void remember(struct pace *p, enum pace_phase phase, enum pace_why why,
                     const struct verdict *v)
{
    p->phase = phase;
    p->fall.why = why;
    p->fall.window = p->window;
    p->fall.ln = v->ln;
    p->fall.error = v->error;
    p->fall.failing = v->failing;
    p->fall.load = v->load;
    p->fall.at_bottom = 0;
}

static double factor(const struct pace *p, const struct pace_limits *l, enum pace_why why,
                     const struct verdict *v)
{
    double f = why == PACE_RUN_TIME   ? exp((alpha(p, l) + beta(p, l)) / 2 - v->slower)
               : why == PACE_FAILURES ? 1 - (v->failing - p->normal_failing)
                                      : LOAD_FACTOR;
    return fmin(fmax(f, LEAST_FACTOR), MOST_FACTOR);
}

static enum pace_why lower(struct pace *p, const struct pace_limits *l, enum pace_why why,
                           const struct verdict *v, int64_t peak)
{
    bool worse = why == PACE_RUN_TIME &&
                 v->ln - p->fall.ln > LIKELY * hypot(v->error, p->fall.error);
    if (p->phase != PACE_FALLING || p->fall.why != why || worse) {
        remember(p, PACE_FALLING, why, v);
    } else if (is_not_ours(p, v)) {
        double before = p->fall.window;
        accept(p, v);
        set_window(p, l, before);
        return PACE_NOTHING;
    }
    double was = p->window, used = fmin(was, fmax((double)peak, 1));
    set_window(p, l, fmin(used * factor(p, l, why, v), used - 1));
    if (p->window > was)
        p->window = was;
    if (p->window <= LOOK_FACTOR * was)
        p->unlooked = 0;
    if (p->window < was) {
        p->fall.at_bottom = 0;
        p->rest = REST_ROUNDS;
        p->ceiling = why == PACE_RUN_TIME ? was : 0;
        p->streak = 0;
        return why;
    }
    /* As low as it goes, and no change: then this is how things are. Unless nothing gets through at
     * all. */
    if (++p->fall.at_bottom >= BOTTOM_ROUNDS && (why != PACE_FAILURES || v->failing < ALL_FAIL))
        accept(p, v);
    return PACE_NOTHING;
}

/* Nothing presses. */
static void learn(struct pace *p, const struct pace_limits *l, const struct verdict *v)
{
    if (v->timed && (!p->has_normal || p->phase == PACE_STARTING))
        set_normal(p, v, 0.5); /* the first to end are the short ones */
    else if (v->timed && (v->slower < alpha(p, l) || v->slower < LIKELY * v->unsure))
        set_normal(p, v, v->slower < -LIKELY * v->unsure ? 0.3 : fmax(news(p, v), 0.05 * trust(v)));
    p->normal_failing += 0.1 * (v->failing - p->normal_failing);
    if (v->load >= 0 && v->load < p->normal_load)
        p->normal_load = v->load;
}

static void go_on(struct pace *p, const struct pace_limits *l, const struct verdict *v)
{
    bool calm = v->mean_slower < alpha(p, l) && !is_loaded(p, v, LOAD_HOLD);
    bool full = p->round.full;
    learn(p, l, v);
    if (p->phase == PACE_STARTING && (calm || v->slower < LIKELY * v->unsure)) {
        if (full && p->window < p->known)
            set_window(p, l, fmin(2 * p->window, p->known));
        if (p->window < p->known)
            return;
    }
    /* What failed does no longer: up to near where it was there is nothing to be found out. */
    if (p->phase == PACE_FALLING && p->fall.why == PACE_FAILURES &&
        p->window < p->fall.window / 2) {
        p->phase = PACE_STARTING;
        p->known = floor(0.75 * p->fall.window);
        return;
    }
    p->phase = PACE_STEADY;
    if (!full) {
        p->streak = 0;
        return;
    }
    if (++p->unlooked > LOOK_EVERY && p->window > 1 / (1 - LOOK_FACTOR)) {
        remember(p, PACE_LOOKING, PACE_NOTHING, v);
        set_window(p, l, LOOK_FACTOR * p->window);
    } else if (v->timed && v->mean_slower > (alpha(p, l) + beta(p, l)) / 2 &&
               v->mean_slower - alpha(p, l) > LIKELY * v->mean_unsure) {
        set_window(p, l, p->window - 1);
        p->rest = REST_ROUNDS;
    } else if (p->rest > 0) {
        p->rest--;
    } else if (calm) {
        if (p->window >= p->ceiling)
            p->ceiling = 0;
        p->streak = p->window < NEAR * p->ceiling || p->ceiling == 0 ? p->streak + 1 : 0;
        set_window(p, l,
                   p->window +
                       fmax(1, floor(p->window / GROW_PART)) * (1 + p->streak / GROW_STREAK));
        p->stepped = true;
        return;
    }
    p->streak = 0;
}

static void looked(struct pace *p, const struct pace_limits *l, const struct verdict *v)
{
    if (v->timed) {
        set_normal(p, v,
                   fabs(v->slower) > LIKELY * v->unsure ? 1 : fmax(news(p, v), 0.5 * trust(v)));
    }
    p->phase = PACE_STEADY;
    p->unlooked = 0;
    set_window(p, l, p->fall.window);
}

/* True: what has come so far is enough to decide on. */
static bool is_over(const struct pace *p, const struct pace_limits *l, const struct verdict *v)
{
    double got = p->round.ended + p->round.timed_out, wanted = fmax(ROUND_MIN, p->window);
    if (got < wanted)
        return false;
    return v->error <= FAIR_ERROR || got >= ROUND_MAX * wanted ||
           pressed_by(p, l, v) != PACE_NOTHING;
}

/* Rounds at the same window differ by more than their errors where something sways all tasks
 * together. */
static void learn_noise(struct pace *p, const struct verdict *v)
{
    if (!v->timed)
        return;
    if (p->has_before && p->before_window == p->window) {
        double apart = fmin(fabs(v->ln - p->before_ln), NOISE_STEP_MOST);
        p->noise = fmin(
            sqrt((1 - NOISE_PART) * p->noise * p->noise + NOISE_PART * apart * apart / 2),
            NOISE_MOST);
    }
    p->same_slower = v->mean_slower;
    p->same = fmin(p->same + 1, SAME_MOST);
    p->has_before = true;
    p->before_ln = v->ln;
    p->before_window = p->window;
}

enum pace_why pace_tick(struct pace *p, const struct pace_limits *l, const struct pace_told *t,
                        int64_t now_ns)
{
    struct pace_round *r = &p->round;
    enum pace_why why = PACE_NOTHING;
    set_window(p, l, p->window);
    if (now_ns - r->start_ns < ROUND_NS)
        return PACE_NOTHING;
    struct verdict v = {.load = t->load};
    if (r->ended + r->timed_out >= ROUND_MIN)
        v = judge(p, t);
    if (!is_over(p, l, &v)) {
        if (is_loaded(p, &v, LOAD_PRESSURE)) {
            why = lower(p, l, PACE_LOAD, &v, t->peak);
            new_round(p, now_ns);
        } else if (p->phase == PACE_STARTING && r->full && r->ended + r->timed_out == 0 &&
                   now_ns - p->begun_ns >= p->quiet_ns) {
            /* Long tasks: nothing can be known for as long as they run, and to wait for it would
             * leave workers idle. */
            set_window(p, l, p->window + PACE_INITIAL);
            p->quiet_ns = 2 * (now_ns - p->begun_ns);
        }
        return why;
    }
    if (r->ended > 0)
        p->last_s = r->sum_s / r->ended;
    enum pace_why by = pressed_by(p, l, &v);
    learn_noise(p, &v);
    /* A little slower, and no step up that it would come from: may be a hiccup, so once more. */
    bool doubtful = by == PACE_RUN_TIME && p->phase == PACE_STEADY && !p->stepped && !p->doubted &&
                    v.slower < 2 * beta(p, l);
    p->doubted = doubtful;
    p->stepped = false;
    if (doubtful)
        p->streak = 0;
    else if (p->phase == PACE_LOOKING && by != PACE_FAILURES)
        looked(p, l, &v);
    else if (by != PACE_NOTHING)
        why = lower(p, l, by, &v, t->peak);
    else
        go_on(p, l, &v);
    new_round(p, now_ns);
    return why;
}
