/* The ingress daemon's state, and its start and end. Everything here is owned by the
 * loop's lock, see bus/loop.h. */
#ifndef AX_INGRESS_INGRESS_H
#define AX_INGRESS_INGRESS_H

#include <nats/nats.h>
#include <stdbool.h>

#include "base/options.h"
#include "bus/loop.h"
#include "bus/pipeline.h"
#include "bus/provision/priorities.h"
#include "ingress/counters.h"
#include "ingress/dead_room.h"
#include "ingress/feed/later.h"
#include "stats/replies.h"

#define INGRESS_QUEUE_GROUP "ax-ingress"

struct account;
struct arrivals;
struct foreign;
struct key_index;
struct pools;
struct queue;
struct schedules;
struct sweep;
struct submits;
struct provisioner;
struct stats_reply;

struct ingress {
    struct wire *wire;         /* for all but submissions */
    struct arrivals *arrivals; /* submissions come on a connection of their own */
    struct loop *loop;
    struct clock *clock;
    const struct options *options;
    struct pipeline *pipe;
    struct key_index *key_index;
    struct pools *pools;
    struct queue *queues; /* every priority ever seen, see queue.h */
    struct foreign *foreign;
    struct submits *submits;
    struct account *account; /* of the bytes that they hold */
    struct provisioner *provisioner;
    struct stats_reply *stats_reply;
    struct replies replies;
    struct later later;
    struct dead_room dead_room;
    struct schedules *schedules;
    struct sweep *sweep;
    struct counters counters;
    bool opening; /* submissions are asked for; whether they come: arrivals_are_open */
    bool connected;
    bool closing;
    struct {
        struct loop_timer timer;
        int64_t until_ns;
    } drain;
};

/* Before connect_open, which wants the callbacks: ing zeroed, loop and options set. */
void ingress_disconnected(void *arg);
void ingress_reconnected(void *arg);

/* ing->wire and ing->arrivals set. Takes the lock. Starts everything; submissions are taken as soon
 * as the streams are there. */
ax_err ingress_start(struct ingress *ing, struct problem *p);

/* Takes no new submissions, and stops the loop when nothing is in flight, or after limit_ms.
 * Lock held. */
void ingress_drain(struct ingress *ing, int64_t limit_ms);

/* Takes the lock (HTTP). True: ready; otherwise why is filled in. */
bool ingress_is_ready(void *ing, char *why, unsigned long cap);

#endif
