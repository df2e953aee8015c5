/* The subscriptions that submissions come on. They have a connection of their own: nats-server cuts
 * a client off that it has sent more than it takes (max_pending), and what JetStream answers must
 * not be lost with that, nor wait behind it.
 *
 * As a rule the server may send whatever comes. When more came in a moment than is ever work
 * (FLOOD_BYTES in FLOOD_MS), it may send so many bytes ahead of what was read, and no more, until
 * it has been quiet for a while: subscriptions that end after a number of messages, and are made
 * anew as those are read. Meanwhile a producer may be told that there are no responders, as while
 * ingress starts again, and repeats. Lock of the loop held, except for arrivals_open. */
#ifndef AX_INGRESS_ARRIVALS_H
#define AX_INGRESS_ARRIVALS_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct arrivals;
struct ingress;

/* Makes the connection, as wire_open does, for the process's life. No lock held; ing->wire is set.
 */
ax_err arrivals_connect(struct arrivals **out, struct ingress *ing, struct problem *p);
/* Before arrivals_open. AX_E_NOMEM, AX_E_DISCONNECTED. */
ax_err arrivals_start(struct arrivals *a);

/* Subscribes, and goes on trying; calls opened once when the server has the subscriptions. */
void arrivals_open(struct arrivals *a, void (*opened)(struct ingress *ing));
/* Submissions come. */
bool arrivals_are_open(const struct arrivals *a);

/* Takes no more; those that the server has sent are still handed over, for at most limit_ms. */
void arrivals_drain(struct arrivals *a, int64_t limit_ms);
bool arrivals_are_drained(const struct arrivals *a);

#endif
