/* Telling ingress how many tasks of each group a full queue holds (docs/design/groups.md, "Sharing
 * a full queue"), so that it can refuse groups that are over their share. Loop lock. */
#ifndef AX_DISPATCH_FAIR_OCCUPANCY_H
#define AX_DISPATCH_FAIR_OCCUPANCY_H

struct pool;

/* An ingress has refused a task of this priority because the queue is full: publishes the queue's
 * occupancy, now and every 100 ms for some seconds. No-op while another dispatcher leads p. */
void occupancy_on_refused(struct pool *p, const char *priority);

#endif
