/* How a queue's bound is shared among groups: weighted max-min fairness (as in D. Bertsekas and R.
 * Gallager, "Data Networks", 2nd ed., 6.5.2). Whoever would hold no more than its weighted part
 * holds what it would; what that leaves is shared among the others by weight, and so on. Pure. */
#ifndef AX_INGRESS_QUEUE_SHARE_H
#define AX_INGRESS_QUEUE_SHARE_H

#include <stddef.h>

struct share {
    double would_hold; /* tasks, were there room; >= 0 */
    double weight;     /* > 0 */
};

/* The most that anyone may hold for each unit of weight, so that all together hold no more than
 * bound; INFINITY: all of it fits. Sorts list. O(n log n). */
double share_level(struct share *list, size_t n, double bound);

#endif
