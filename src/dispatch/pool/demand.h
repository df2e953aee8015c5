/* Demand: the pull requests of a pool's workers, as heard on $JS.API.CONSUMER.MSG.NEXT
 * (docs/design/dispatching.md).
 *
 * nats-server keeps waiting pulls in a queue, gives the next message to the first of them and moves
 * it to the end while it wants more (consumer.go, waitQueue.pop). This is the same queue, fed with
 * the same requests, so that a hand-off is known to go to the pull at the head, and each pull's
 * un-acked tasks can be counted: a pull is granted at most `batch` at a time, however much it asked
 * for. It is an estimate (requests may be missed, clients may vanish); demand_reconcile corrects it
 * from the consumer's info. Loop lock. */
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
    struct pull *prev, *next;
};

struct demand {
    struct pull *head, *tail; /* the server's waiting queue */
    int count;
    int64_t undelivered; /* hand-offs in AX_WORK that no pull was there for */
    uint64_t changes;    /* counts everything that happens, so that a stale info can be told */
};

/* A pull request was heard. now_ns: monotonic. What is undelivered goes to it first. A pure no_wait
 * request (no expiry) never waits at the server; it counts as one wish for up to `batch` tasks,
 * which the client's next poll will find. */
void demand_add(struct demand *d, const struct pull_request *r, int64_t batch, int64_t now_ns);
/* The pull the next hand-off would go to, if it may have one more: NULL when nobody waits, or when
 * the first in line has `batch` un-acked tasks (the server would give it the next one all the
 * same). Drops expired pulls. */
struct pull *demand_next(struct demand *d, int64_t batch, int64_t now_ns);
/* Attributes a hand-off to p, which demand_next returned. */
void demand_take(struct demand *d, struct pull *p);
/* The hand-off did not happen after all: p may have another. */
void demand_give_back(struct demand *d, struct pull *p);
/* A task attributed to p ended. p NULL: nothing (an adopted task). */
void demand_ended(struct demand *d, struct pull *p);
/* How many tasks the waiting pulls may be granted now, at most `limit`. */
int64_t demand_grantable(struct demand *d, int64_t batch, int64_t limit, int64_t now_ns);
/* The consumer's info: waiting pulls and undelivered messages; with some of both it says nothing.
 * Only valid if d->changes is the same as when the info was asked for; the caller checks. */
void demand_reconcile(struct demand *d, int64_t waiting, int64_t undelivered, int64_t batch,
                      int64_t now_ns);
/* The connection was lost: the server has forgotten all pulls. */
void demand_forget(struct demand *d);

#endif
