/* Creates the consumers of pools and feeders that do not exist and repairs what consumer_plan.h
 * names. Consumers that do not depend on each other are asked for at the same time. */
#ifndef AX_BUS_PROVISION_CONSUMERS_H
#define AX_BUS_PROVISION_CONSUMERS_H

#include "base/error.h"
#include "bus/provision/asker.h"
#include "bus/provision/priorities.h"

struct consumers_events {
    /* May be NULL: each consumer that was made or repaired, in one line. */
    void (*changed)(void *arg, const char *line);
    /* Once, last: p->err is AX_OK, or p is the first trouble there was. pool: NULL for feeders. */
    void (*done)(void *arg, const char *pool, const struct problem *p);
    void *arg;
};

/* A pool's: <pool> on AX_WORK and on the stream of every priority. ps, pool: borrowed until done.
 * done may be called before this returns. */
void consumers_ensure_pool(struct asker *a, const struct priorities *ps, const char *pool,
                           const struct consumers_events *events);

/* The feeders': feeder-<priority> on AX_LATER and AX_SPILL. The same. */
void consumers_ensure_feeders(struct asker *a, const struct priorities *ps,
                              const struct consumers_events *events);

#endif
