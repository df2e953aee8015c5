#include "ingress/queue/pool_share.h"

#include <math.h>

/* α times a whole number is a whole number for the usual shares, but for this. */
#define ROUNDING 1e-6
#define FIRST_PART 100 /* of the reserve: what a pool may have that never had a task finished */

int64_t pool_share_limit(double share, int64_t bound, int64_t total, double lately)
{
    int64_t free = total < 0 ? bound : bound - total;
    double reserve = (1 - share) * (double)bound;
    if (share >= 1 || bound <= 0)
        return POOL_SHARE_NO_LIMIT;
    /* A pool holds at most bound - free, which is less than α · free while this holds. */
    if (free > 1 && (double)free > reserve + ROUNDING)
        return POOL_SHARE_NO_LIMIT;
    if (free <= 1 || share <= 0)
        return 0;
    double threshold = share / (1 - share) * (double)free;
    double own = fmax(fmax(1, reserve / FIRST_PART), 2 * lately);
    return (int64_t)(fmin(threshold, own) + ROUNDING);
}

double pool_share_lately(double lately, int64_t passed_ns, int64_t left)
{
    return lately * exp(-(double)passed_ns / (POOL_SHARE_LATELY_S * 1e9)) + (double)left;
}
