/* A daemon's provisioner: sees to it that its streams and consumers exist and that it knows the
 * priorities and limits as the server has them. It looks at the streams at start, when kicked
 * (advisories, a reconnect, a puller that lost its consumer) and every few seconds, and at each
 * pool when it is new, when something of it changed, and rarely otherwise (pool_watch.h). It
 * creates what is missing, repairs what consumer_plan.h names and leaves alone what operators
 * changed. It never waits: everything runs on the loop, and kicks that come together are one round.
 */
#ifndef AX_BUS_PROVISION_PROVISIONER_H
#define AX_BUS_PROVISION_PROVISIONER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/loop.h"
#include "bus/pipeline.h"
#include "bus/provision/priorities.h"
#include "bus/wire.h"

struct provisioner;

struct provisioner_config {
    int replicas;           /* of streams that are created; 0 or 1: as in streams/ */
    bool feeders;           /* make the feeders' consumers */
    bool warns_of_replicas; /* once: streams that have fewer */
    const char *trouble; /* log line for a round that failed, said once for each reason; static */
    /* Each may be NULL. priorities: read, in every round, once the feeders' consumers exist.
     * work_created: AX_WORK's creation time, with them. pool: a look found or made its consumers on
     * all of them. pool_failed: some could not be made, and the pool is looked at again after a
     * pause. streams_created: at the end of a round that created some. */
    void (*priorities)(void *arg, const struct priorities *ps);
    void (*work_created)(void *arg, int64_t created_ns);
    void (*pool)(void *arg, const char *pool, const struct priorities *ps);
    void (*pool_failed)(void *arg, const char *pool, const struct problem *p);
    void (*streams_created)(void *arg);
    void *arg;
};

/* Subscribes to the advisories and starts the first round. config: copied. AX_E_NOMEM,
 * AX_E_DISCONNECTED. The loop's lock is held here and in every call below, and in the callbacks.
 * Lives as long as the process. */
ax_err provisioner_start(struct provisioner **out, struct wire *w, struct pipeline *p,
                         const struct provisioner_config *config);

/* Have a look soon. NULL allowed. */
void provisioner_kick(struct provisioner *p);

/* The same, and at every pool: changes may have been missed. NULL allowed. */
void provisioner_look_again(struct provisioner *p);

/* One more pool whose consumers are wanted: looks at it at once. AX_E_NOMEM. */
ax_err provisioner_add_pool(struct provisioner *p, const char *name);
/* They are wanted no more; those that exist stay. */
void provisioner_remove_pool(struct provisioner *p, const char *name);
/* Something of the pool, or of a stream, is missing or has changed: looks soon. */
void provisioner_kick_pool(struct provisioner *p, const char *name);

/* Asks nothing any more. */
void provisioner_stop(struct provisioner *p);

#endif
