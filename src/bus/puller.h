/* Pull consumer pipeline: several pull requests outstanding on one consumer, written by hand to
 * $JS.API.CONSUMER.MSG.NEXT (nats.c 3.4's Fetch writes past its array when more comes than was
 * asked for). Loop lock held in every call and callback. */
#ifndef AX_BUS_PULLER_H
#define AX_BUS_PULLER_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/loop.h"
#include "bus/wire.h"

struct puller;
struct puller_events {
    /* A message; taken by the callee, which destroys it. */
    void (*message)(void *arg, natsMsg *msg);
    /* The consumer does not answer or is gone: somebody should look (at most once a second). May be
     * NULL. */
    void (*lost)(void *arg);
    void *arg;
};

/* stream, consumer: copied. */
ax_err puller_new(struct puller **out, struct wire *wire, struct loop *l, const char *stream,
                  const char *consumer, const struct puller_events *events);
/* How many more messages the caller is ready to take now. Asks the server for what is not asked for
 * yet. A puller that is no longer needed is told to want 0 and kept: nats.c 3.4 crashes on a
 * message for a destroyed subscription. */
void puller_want(struct puller *p, int n);
/* Pulls are forgotten by a server that went away: ask again. */
void puller_reconnected(struct puller *p);

#endif
