/* The subscriptions that make the dispatcher fast: pulls, acks, advisories, settings of pools. All
 * of it is a hint; what is not heard is found by reading. */
#ifndef AX_DISPATCH_LISTEN_H
#define AX_DISPATCH_LISTEN_H

#include "base/error.h"

struct dispatch;

/* Subscribes for the life of the process. d: borrowed for as long; its wire is open. Lock held.
 * An error of wire_subscribe. */
ax_err listen_start(struct dispatch *d);

#endif
