/* Telling ingress what the groups of a pool hold of a queue that is full (docs/design/groups.md,
 * "Sharing a full queue"). Loop lock. */
#ifndef AX_DISPATCH_FAIR_OCCUPANCY_H
#define AX_DISPATCH_FAIR_OCCUPANCY_H

struct pool;

/* An ingress had no room in this priority for tasks of a group; tells for a while what the
 * groups hold. */
void occupancy_on_refused(struct pool *p, const char *priority);

#endif
