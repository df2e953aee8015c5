/* Who may put how much into a queue while it is full (docs/design/groups.md, "Sharing a full
 * queue"). Nothing is reckoned, asked or kept while no queue is full. Counts come from the pools'
 * leaders (ax.held.>) every 100 ms, refusals from all ingress instances (ax.refused.>); without
 * fresh counts of a pool its groups are not limited. Lock held in every call. */
#ifndef AX_INGRESS_QUEUE_SHARES_H
#define AX_INGRESS_QUEUE_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct ingress;
struct queue;
struct shares; /* of one queue */

/* Listens. */
ax_err shares_start(struct ingress *ing);

struct over_quota {
    int64_t held, share; /* tasks of the group or pool, and how many it may hold */
    bool soon;           /* of a pool: few of its tasks are there, or they leave */
};
/* May a task of this group (NULL: none) be put into the queue? Counted as being there when it may;
 * else *e says why not. */
bool shares_allow(struct queue *q, const char *pool, const char *group, struct over_quota *e);
/* The queue was full for a task of this group, which had been allowed (or came from a feeder:
 * was_counted false). True: the group contends now, and room is made for it. */
bool shares_refused(struct queue *q, const char *pool, const char *group, bool was_counted);

#endif
