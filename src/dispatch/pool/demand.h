/* Demand: the pull requests of a pool's workers, as observed on $JS.API.CONSUMER.MSG.NEXT
 * (docs/design/dispatching.md).
 *
 * nats-server keeps waiting pulls in a queue, gives the next message to the first of them and moves
 * it to the end while it wants more (consumer.go, waitQueue.pop). This is the same queue, fed with
 * the same requests. So it is known that a hand-off goes to the pull at the head, and the un-acked
 * tasks of each pull can be counted: a pull is granted at most `batch` at a time, however many it
 * asked for. It is an estimate, since requests may be missed and clients may vanish;
 * demand_reconcile corrects it from the consumer's info. Pure: the caller passes the time
 * (monotonic). Loop lock. */
#ifndef AX_DISPATCH_POOL_DEMAND_H
#define AX_DISPATCH_POOL_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/pull.h"

struct pull {
    int64_t left;       /* tasks it still wants */
    int64_t expires_ns; /* monotonic; INT64_MAX: does not expire */
    int32_t unacked;    /* tasks attributed to it that have not ended */
    bool queued;
    bool polls; /* it does not wait: what is handed to it lies in AX_WORK until its next poll */
    struct pull *prev, *next;
};

/* More waiting pulls are not counted: the server itself keeps 512 for a consumer, unless an
 * operator has set another max_waiting, and refuses the rest. */
#define DEMAND_WAITING_MAX 16384

/* Zero-initialise. */
struct demand {
    struct pull *waiting; /* the server's waiting queue */
    int count;            /* of waiting, at most DEMAND_WAITING_MAX */
    int64_t undelivered;  /* hand-offs in AX_WORK that found no pull */
    uint64_t changes;     /* counts every event, so that an info asked for before it is known */
};

/* A pull request was observed. What is undelivered goes to it first. A pure no_wait request (no
 * expiry) never waits at the server; it counts as a wish for up to `batch` tasks, which the
 * client's next poll will find. Without memory it is missed. */
void demand_add(struct demand *d, const struct pull_request *r, int64_t batch, int64_t now_ns);
/* The pull that the next hand-off would go to, if it may have one more. NULL: none waits, or the
 * first one has `batch` un-acked tasks (the server would give it the next one all the same). Drops
 * expired pulls. */
struct pull *demand_next(struct demand *d, int64_t batch, int64_t now_ns);
/* Attributes a hand-off to p, which demand_next returned. */
void demand_take(struct demand *d, struct pull *p);
/* The hand-off did not happen after all: p may have another. */
void demand_give_back(struct demand *d, struct pull *p);
/* A task attributed to p ended, which may free p. p NULL: only counts a change (an adopted task).
 */
void demand_ended(struct demand *d, struct pull *p);
/* A hand-off that found no pull is taken out of AX_WORK: the next pull does not find it either. */
void demand_withdrawn(struct demand *d);
/* How many tasks the waiting pulls may be granted now, at most `limit`. */
int64_t demand_grantable(struct demand *d, int64_t batch, int64_t limit, int64_t now_ns);
/* The consumer's info: waiting pulls and undelivered messages; with some of both it tells nothing.
 * The caller calls it only if d->changes is as it was when the info was asked for. */
void demand_reconcile(struct demand *d, int64_t waiting, int64_t undelivered, int64_t batch,
                      int64_t now_ns);
/* The connection was lost: the server has forgotten all pulls. */
void demand_forget(struct demand *d);

#endif
