/* The pools that this dispatcher knows: those that have an entry in KV_AX_POOLS, followed live.
 *
 * What is stored decides. A pool exists here from when its entry was read; settings that cannot be
 * read are not the defaults: a pool of which nothing better is known rests, as if paused. A pool
 * whose entry was removed is forgotten at once, unless its leader knows of tasks: then it puts the
 * entry back, with the settings it had. Loop's lock held. */
#ifndef AX_DISPATCH_POOL_TABLE_H
#define AX_DISPATCH_POOL_TABLE_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "bus/loop.h"

struct dispatch;
struct metric;
struct pool;

/* What is known of a pool's entry. */
struct pool_table_entry {
    bool unread;    /* it cannot be read, nor ever could: nothing is started */
    uint32_t round; /* of reading the bucket, in which it was seen last */
};

struct pool_table {
    struct pool *pools;
    struct pool *removed; /* kept for callbacks, and for when they come back */
    uint32_t round;       /* of reading the bucket */
    bool reading, again;
    bool read; /* once, to its end */
    struct loop_timer look_timer;
    int looks; /* readings still to come, a moment later */
    struct metric *m_unprovisioned, *m_unreadable;
};

/* Reads the bucket, and again a moment later: what was published just before we listened may not
 * have been stored. */
void pool_table_start(struct dispatch *d);
/* Reads the bucket now: changes may have been missed. */
void pool_table_read(struct dispatch *d);
/* A message on $KV.AX_POOLS.> was received (borrowed). */
void pool_table_observe(struct dispatch *d, natsMsg *msg);
/* NULL: no pool of that name. */
struct pool *pool_table_find(const struct dispatch *d, const char *name);
/* Once a second: counts the pools that cannot be provisioned, and those that rest because their
 * settings cannot be read. */
void pool_table_count(struct dispatch *d);

#endif
