/* The pools whose consumers a daemon wants, and when each of them is looked at: at once when it is
 * new or something of it changed, with growing pauses while its consumers cannot be made, and
 * otherwise rarely. A pool that cannot be made holds up no other. Loop's lock held. */
#ifndef AX_BUS_PROVISION_POOL_WATCH_H
#define AX_BUS_PROVISION_POOL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/loop.h"
#include "bus/provision/asker.h"
#include "bus/provision/priorities.h"

#define POOL_WATCH_VERIFY_MS 60000 /* between two looks at a pool of which nothing was heard */

struct watched_pool;

struct pool_watch_events {
    /* Its consumers exist on all of these. May be NULL. */
    void (*provisioned)(void *arg, const char *pool, const struct priorities *ps);
    /* Some of them could not be made, and p says why. May be NULL. */
    void (*failed)(void *arg, const char *pool, const struct problem *p);
    void *arg;
};

/* pool_watch.c's own. */
struct pool_watch {
    struct asker *asker;
    struct loop *loop;
    struct pool_watch_events events;
    struct priorities known;    /* as last read; count 0: not yet */
    struct watched_pool *pools; /* hash by name */
    int under_way;
    struct loop_timer timer; /* of the next look */
};

/* a, l: borrowed for the life of w. events: copied. */
void pool_watch_init(struct pool_watch *w, struct asker *a, struct loop *l,
                     const struct pool_watch_events *events);

/* One more pool: looked at as soon as the priorities are known. A valid name. AX_E_NOMEM. */
ax_err pool_watch_add(struct pool_watch *w, const char *name);
/* It is wanted no more: nothing of it is asked or made from now on, but for the question that is
 * under way. */
void pool_watch_remove(struct pool_watch *w, const char *name);

/* The priorities as just read (copied), and how many consumers AX_WORK has; -1: not known. Where
 * they are others than before, or a stream has fewer consumers than pools were provisioned, every
 * pool is looked at. */
void pool_watch_priorities(struct pool_watch *w, const struct priorities *ps,
                           int64_t work_consumers);
/* Something of this pool changed or is missing: looked at soon. One that cannot be made keeps its
 * pause. */
void pool_watch_mark(struct pool_watch *w, const char *name);
/* The same for those that could not be made (again at once), and for all pools. */
void pool_watch_mark_failed(struct pool_watch *w);
/* All pools, if they have consumers on this stream. */
void pool_watch_mark_stream(struct pool_watch *w, const char *stream);
void pool_watch_mark_all(struct pool_watch *w);
/* Looks at nothing any more. */
void pool_watch_stop(struct pool_watch *w);

/* The pause after `failures` looks (1 or more) that failed one after the other: a second, doubled
 * each time up to a minute. Pure. */
int64_t pool_watch_pause_ms(int failures);

#endif
