/* The dispatch daemon: its connection, its pools, and what it listens to. */
#ifndef AX_DISPATCH_DISPATCH_H
#define AX_DISPATCH_DISPATCH_H

#include <nats/nats.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/options.h"
#include "bus/loop.h"
#include "bus/pipeline.h"
#include "bus/provision/provisioner.h"
#include "bus/reader.h"
#include "bus/wire.h"
#include "dispatch/lead/assignment.h"
#include "dispatch/lead/catch_up.h"
#include "dispatch/lead/done_view.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool_table.h"
#include "stats/replies.h"
#include "task/peer/instance.h"

struct dispatch {
    const struct options *options;
    struct clock clock;
    struct loop *loop;
    struct wire *wire;
    struct pipeline *pipeline;
    struct wire_events events;
    struct done_view done;                 /* what we know of KV_AX_DONE */
    struct catch_up catch_up;              /* reading it */
    char instance[INSTANCE_MAX_CHARS + 1]; /* our name among the dispatchers */
    struct assignment assignment;
    uint64_t random; /* state of the jitter's generator */
    struct priorities priorities;
    int64_t work_epoch_ns;  /* creation time of AX_WORK as last read; 0: not known */
    bool clustered;         /* servers of a cluster have AX_WORK, as last read */
    uint64_t acks_heard_on; /* the connection on which one was heard last (wire_connections) */
    struct provisioner *provisioner;
    struct pool_table table;
    struct loop_timer tick;
    struct replies replies; /* to requests of others */
    atomic_bool is_ready;   /* for /readyz */
};

/* Connects and starts everything; loop_run by the caller afterwards. */
ax_err dispatch_start(struct dispatch *d, const struct options *o, struct problem *p);
/* Closes the connection. The loop has returned for good. */
void dispatch_stop(struct dispatch *d);

/* NULL: no pool of that name. */
struct pool *dispatch_pool(struct dispatch *d, const char *name);
/* AX_WORK's creation time as just read: a change means that it was recreated. */
void dispatch_set_epoch(struct dispatch *d, int64_t created_ns);
/* Something is missing or has changed: the provisioner looks soon. */
void dispatch_kick(struct dispatch *d);
/* The same of this pool. */
void dispatch_kick_pool(struct dispatch *d, const struct pool *p);
/* Uniform in [0,1). */
double dispatch_random(struct dispatch *d);

#endif
