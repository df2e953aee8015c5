/* Pulls from one consumer, with several requests outstanding. They are written by hand to
 * $JS.API.CONSUMER.MSG.NEXT: nats.c 3.4's Fetch writes past its array when more messages come than
 * it asked for. The loop's lock is held in every call and callback. */
#ifndef AX_BUS_PULLER_H
#define AX_BUS_PULLER_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/ack.h"
#include "bus/loop.h"
#include "bus/wire.h"

struct puller;
struct puller_events {
    /* A message; taken by the callee, which destroys it. ack: its ack subject taken apart; valid
     * during the call. It is the consumer's own; other messages that come on the inbox are dropped,
     * since acks would be published to whatever reply subject they have. */
    void (*message)(void *arg, natsMsg *msg, const struct ack_subject *ack);
    /* The consumer does not answer, or does not exist; at most once a second. May be NULL. */
    void (*lost)(void *arg);
    void *arg;
};

/* stream, consumer, events: copied. Lives as long as the process. AX_E_NOMEM, AX_E_DISCONNECTED. */
ax_err puller_new(struct puller **out, struct wire *wire, struct loop *l, const char *stream,
                  const char *consumer, const struct puller_events *events);
/* Where a message that `message` was called with is acked; borrowed from msg. */
static inline const char *puller_ack_subject(natsMsg *msg)
{
    return natsMsg_GetReply(msg);
}
/* How many more messages the caller is ready to take now; the server is asked for what it was not
 * asked for yet. A puller that is no longer needed is set to 0 and kept: nats.c 3.4 crashes on a
 * message for a destroyed subscription. */
void puller_want(struct puller *p, int n);
/* Each pull is for about so many bytes at most, and two are outstanding. A message that is longer
 * than bytes, or than two of the server's largest, is not got. */
void puller_bound(struct puller *p, int64_t bytes);
/* After a reconnect: asks again, since a server that went away has forgotten the pulls. */
void puller_reconnected(struct puller *p);

#endif
