/* The thread that sees to it that the streams and the feeders' consumers exist and that the daemon
 * knows the priorities and limits as the server has them. Slow, blocking work, so apart from the
 * loop. Runs at start, when kicked (advisories, reconnect, a puller that lost its consumer) and
 * every 5 s. */
#ifndef AX_INGRESS_KEEPER_H
#define AX_INGRESS_KEEPER_H

#include "base/error.h"

struct ingress;
struct keeper;

/* Subscribes to the advisories and starts the thread. Lock not held. */
ax_err keeper_start(struct keeper **out, struct ingress *ing);
/* Have a look soon. Any thread, lock held or not; NULL allowed. */
void keeper_kick(struct keeper *k);
/* Waits for the thread to end. Lock not held. */
void keeper_stop(struct keeper *k);

#endif
