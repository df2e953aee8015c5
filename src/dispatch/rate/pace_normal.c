#include "dispatch/rate/pace_normal.h"

#include <math.h>

#define GOOD_ERROR 0.05     /* of the mean logarithm: run times are known to 5 % */
#define NOISE_STEP_MOST 0.2 /* a larger difference of two rounds is an event, no noise */
#define NOISE_MOST 0.15
#define NOISE_PART 0.15 /* of the newest difference in the estimate */
#define SAME_MOST 5     /* rounds at one window are averaged over about so many */

/* How much a round counts: less where its run times differ much. */
static double trust(const struct pace_verdict *v)
{
    return fmin(1, pow(GOOD_ERROR / fmax(v->error, 1e-9), 2));
}

/* The weight that this round has in the average of all rounds so far (as in Kalman 1960). */
static double news(const struct pace *p, const struct pace_verdict *v)
{
    double known = p->normal.error * p->normal.error, observed = v->error * v->error;
    return known + observed > 0 ? known / (known + observed) : 1;
}

/* Moves the normal run time towards the round's, this part of the way. */
static void set_normal(struct pace *p, const struct pace_verdict *v, double part)
{
    double mean_s = p->round.sum_s / p->round.ended;
    if (!p->normal.known)
        part = 1;
    p->normal.known = true;
    p->normal.ln += part * (v->ln - p->normal.ln);
    p->normal.s += part * (mean_s - p->normal.s);
    p->normal.error = hypot((1 - part) * p->normal.error, part * v->error);
}

void pace_normal_learn(struct pace *p, const struct pace_limits *l, const struct pace_verdict *v)
{
    if (v->timed && (!p->normal.known || p->phase == PACE_STARTING))
        set_normal(p, v, 0.5); /* the first to end are the short ones */
    else if (v->timed &&
             (v->slower < pace_judge_normal_to(p, l) || v->slower < PACE_LIKELY * v->unsure)) {
        set_normal(p, v,
                   v->slower < -PACE_LIKELY * v->unsure ? 0.3 : fmax(news(p, v), 0.05 * trust(v)));
    }
    p->normal.failing += 0.1 * (v->failing - p->normal.failing);
    if (v->load >= 0 && v->load < p->normal.load)
        p->normal.load = v->load;
}

void pace_normal_learn_probe(struct pace *p, const struct pace_verdict *v)
{
    if (!v->timed)
        return;
    set_normal(p, v,
               fabs(v->slower) > PACE_LIKELY * v->unsure ? 1 : fmax(news(p, v), 0.5 * trust(v)));
}

/* Rounds at the same window differ by more than their errors where something sways all tasks
 * together: that is the noise. */
void pace_normal_learn_noise(struct pace *p, const struct pace_verdict *v)
{
    if (!v->timed)
        return;
    if (p->before.known && p->before.window == p->window) {
        double apart = fmin(fabs(v->ln - p->before.ln), NOISE_STEP_MOST);
        p->noise = fmin(
            sqrt((1 - NOISE_PART) * p->noise * p->noise + NOISE_PART * apart * apart / 2),
            NOISE_MOST);
    }
    p->same.slower = v->mean_slower;
    p->same.rounds = fmin(p->same.rounds + 1, SAME_MOST);
    p->before.known = true;
    p->before.ln = v->ln;
    p->before.window = p->window;
}

void pace_normal_accept(struct pace *p, const struct pace_verdict *v)
{
    if (v->timed)
        set_normal(p, v, 1);
    p->normal.failing = v->failing;
    p->normal.load = fmax(v->load, 0);
}
