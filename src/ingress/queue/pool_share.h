/* How much of a bounded place one pool may hold while others contend. Pure.
 *
 * Most of the place, the part `share`, is for whoever comes first. The rest is a reserve. While it
 * is being used up, each pool may hold at most α times what is free, α = share / (1 - share): a
 * dynamic threshold (A. K. Choudhury and E. L. Hahne, "Dynamic Queue Length Thresholds for
 * Shared-Memory Packet Switches", IEEE/ACM Transactions on Networking 6(2), 1998). The threshold
 * alone supposes that queues drain. Pools that nobody works for, one after the other, would each
 * take most of what the others left. So a pool may also hold at most twice what left the place of
 * its tasks lately, and a few tasks to begin with, as in the slow start of TCP. */
#ifndef AX_INGRESS_QUEUE_POOL_SHARE_H
#define AX_INGRESS_QUEUE_POOL_SHARE_H

#include <stdint.h>

#define POOL_SHARE_NO_LIMIT INT64_MAX
/* What left counts less and less: after so many seconds a third of it. */
#define POOL_SHARE_LATELY_S 10

/* How many a pool may hold that holds some already. share: 0 … 1; 1: no limit. bound: places in
 * all; 0 or less: no bound, so no limit. total: places taken. lately: tasks of the pool that left,
 * >= 0. POOL_SHARE_NO_LIMIT: the rule cannot bind, whatever the pool holds. The last free place is
 * for a pool that holds nothing: then the limit is 0. */
int64_t pool_share_limit(double share, int64_t bound, int64_t total, double lately);

/* What is left of `lately` after passed_ns (>= 0), and what left since. */
double pool_share_lately(double lately, int64_t passed_ns, int64_t left);

#endif
