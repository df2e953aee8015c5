/* The pools that have an entry in KV_AX_POOLS, followed live, and those that tasks name first:
 * their number is bounded (--max-pools), and so is how fast it grows. Lock held in every call.
 *
 * A pool that nobody added is *claimed* by the submissions that name it. Its entry is added when
 * the first of them was stored, so a submission that is refused adds none. A crash in between
 * leaves a task whose pool has no entry: queue/foreign.h finds it. */
#ifndef AX_INGRESS_POOLS_H
#define AX_INGRESS_POOLS_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct ingress;
struct pools;

/* How long a submission of a new pool is told to wait while too many pools are new. */
#define POOLS_BUSY_MS 1000

enum pools_claim {
    POOLS_KNOWN,   /* it has an entry */
    POOLS_CLAIMED, /* it has none: the caller owes pools_release */
    POOLS_UNREAD,  /* the bucket was not read yet: whether it has one is not known */
    POOLS_STRICT,  /* it has none, and only operators add pools (--strict-pools) */
    POOLS_FULL,    /* it has none, and there are as many pools as may be */
    POOLS_BUSY,    /* it has none, and too many others are new at this moment; or no memory */
};

/* ing->wire, pipe, loop, options and counters are set. The bucket need not be there yet. */
ax_err pools_start(struct pools **out, struct ingress *ing);

/* May a task of this pool be taken? name: a valid name. */
enum pools_claim pools_claim(struct pools *ps, const char *name);
/* A task of the pool was stored: adds an entry with every setting at its default, unless the pool
 * has one. */
void pools_add(struct pools *ps, const char *name);
/* Gives back what pools_claim gave. A pool that nobody claims and that has no entry is forgotten.
 */
void pools_release(struct pools *ps, const char *name);
/* Grows with each entry that was removed: as long as it is the same, a pool that was known is. */
uint32_t pools_removals(const struct pools *ps);

/* The bucket has been read once: pools_has may be relied on. */
bool pools_are_read(const struct pools *ps);
/* The pool has an entry, or is being given one. */
bool pools_has(const struct pools *ps, const char *name);
/* Pools that have an entry or are claimed. */
int64_t pools_count(const struct pools *ps);
/* The weight of a group of a pool, by the pool's settings; group "": of the tasks that name
 * none. */
int32_t pools_weight(const struct pools *ps, const char *pool, const char *group);
/* Reads the bucket again: after a reconnect, or when it was recreated. */
void pools_refresh(struct pools *ps);

#endif
