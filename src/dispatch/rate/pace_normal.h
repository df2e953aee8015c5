/* Learning what is normal for a pool whose rate adapts (pace.h): run times, failures and load
 * without pressure, and how much rounds differ by themselves. Pure. */
#ifndef AX_DISPATCH_RATE_PACE_NORMAL_H
#define AX_DISPATCH_RATE_PACE_NORMAL_H

#include "dispatch/rate/pace.h"
#include "dispatch/rate/pace_judge.h"

#define PACE_NOISE_FIRST 0.05 /* pace.noise at the beginning */

/* After a round without pressure: moves what is normal towards it. */
void pace_normal_learn(struct pace *p, const struct pace_limits *l, const struct pace_verdict *v);
/* After a round at the smaller window of a probe. */
void pace_normal_learn_probe(struct pace *p, const struct pace_verdict *v);
/* After every round: learns how much rounds at one window differ, and keeps the means over the
 * rounds at the present one. */
void pace_normal_learn_noise(struct pace *p, const struct pace_verdict *v);
/* What this round shows is normal from now on. */
void pace_normal_accept(struct pace *p, const struct pace_verdict *v);

#endif
