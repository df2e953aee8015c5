/* The ingress daemon's state, and its start and end. Everything here is owned by the loop lock. */
#ifndef AX_INGRESS_INGRESS_H
#define AX_INGRESS_INGRESS_H

#include <nats/nats.h>
#include <stdbool.h>

#include "core/loop.h"
#include "core/options.h"
#include "core/pipeline.h"
#include "core/provision.h"
#include "ingress/counters.h"
#include "ingress/later.h"

#define INGRESS_QUEUE_GROUP "ax-ingress"

struct known;
struct pools;
struct lane;
struct submits;
struct keeper;
struct told;

struct ingress {
    natsConnection *nc;
    struct loop *loop;
    struct clock *clock;
    const struct options *options;
    struct pipeline *pipe;
    struct known *known;
    struct pools *pools;
    struct lane *lanes; /* every priority ever seen, see lane.h */
    struct submits *submits;
    struct keeper *keeper;
    struct told *told;
    struct later later;
    struct counters counters;
    natsSubscription *doors[2]; /* ax.submit, ax.submit.> */
    bool open;                  /* the doors are subscribed */
    bool connected;
    bool closing;
    struct loop_timer drain_timer;
    int64_t drain_until_ns;
};

/* Before connect_open, which wants the callbacks: ing zeroed, loop and options set. */
void ingress_disconnected(void *arg);
void ingress_reconnected(void *arg);

/* ing->nc set, lock not held: starts everything; submissions are taken as soon as the streams are
 * there. */
ax_err ingress_start(struct ingress *ing, struct problem *p);

/* What the keeper read: takes it over and opens the doors the first time. Lock held. */
void ingress_take_priorities(struct ingress *ing, const struct priorities *ps);

/* Takes no new submissions, and stops the loop when nothing is in the works, or after limit_ms.
 * Lock held. */
void ingress_drain(struct ingress *ing, int64_t limit_ms);

/* Lock not held. True: ready; otherwise why is filled in. */
bool ingress_is_ready(void *ing, char *why, unsigned long cap);

#endif
