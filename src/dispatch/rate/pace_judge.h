/* What a round of pace.h means: how run times, failures and load compare with what is normal, and
 * whether that is pressure. Changes nothing. Pure. */
#ifndef AX_DISPATCH_RATE_PACE_JUDGE_H
#define AX_DISPATCH_RATE_PACE_JUDGE_H

#include <stdbool.h>

#include "dispatch/rate/pace.h"

#define PACE_ROUND_MIN 16 /* acknowledgements in a round */
#define PACE_LIKELY 2     /* standard errors: a difference that is likely no chance */
#define PACE_SURE 3       /* standard errors: a difference that is surely no chance */
#define PACE_ALL_FAIL 0.9 /* of the attempts: nothing gets through at all */
#define PACE_LOAD_PRESSURE 0.95
#define PACE_LOAD_HOLD 0.85 /* load at which the window does not grow */

struct pace_verdict {
    bool timed;       /* enough finished tasks to judge run times; else only the last three hold */
    double ln, error; /* mean logarithm of the run times, its standard error */
    double slower;    /* ln minus the normal one */
    double unsure;    /* standard error of that */
    /* the same over the last rounds at this window, this one included */
    double mean_slower, mean_unsure;
    double failing; /* part of the attempts that failed */
    double load;    /* reported by workers; < 0: not known */
    bool many_failed;
};

/* What the round under way has come to. */
struct pace_verdict pace_judge(const struct pace *p, const struct pace_observed *o);
/* What has come so far is enough to decide on. */
bool pace_judge_is_over(const struct pace *p, const struct pace_limits *l,
                        const struct pace_verdict *v);
/* Differences of the mean logarithm: up to the first run times are normal, beyond the second they
 * are pressure. Neither counts what AX and the network add to a run time. */
double pace_judge_normal_to(const struct pace *p, const struct pace_limits *l);
double pace_judge_pressure_from(const struct pace *p, const struct pace_limits *l);
/* What is under pressure; PACE_NOTHING: nothing is. */
enum pace_why pace_judge_pressure(const struct pace *p, const struct pace_limits *l,
                                  const struct pace_verdict *v);
/* The workers' load is above `least`, and above what is normal. */
bool pace_judge_is_loaded(const struct pace *p, const struct pace_verdict *v, double least);
/* PACE_FALLING: the window went down, and what was taken for its pressure stayed: the window is
 * not its cause. */
bool pace_judge_is_not_ours(const struct pace *p, const struct pace_verdict *v);

#endif
