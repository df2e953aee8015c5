/* What time it is for the server. The clock of the host that `ax` runs on is never asked: it may be
 * an hour off, and then a live task would look expired. Blocking. */
#ifndef AX_CLI_STREAMS_SERVER_CLOCK_H
#define AX_CLI_STREAMS_SERVER_CLOCK_H

#include <nats/nats.h>

#include "base/clock.h"
#include "base/error.h"

/* Sets *out so that clock_ax_ns tells AX time from now on. stream: one that exists, whose leader is
 * asked. nc: borrowed. The errors of stored_request, AX_E_PROTOCOL: the answer has no time. */
ax_err server_clock_read(natsConnection *nc, const char *stream, struct clock *out,
                         struct problem *p);

#endif
