/* Reads many messages of a stream, a batch at a time. Blocking. */
#ifndef AX_CLI_STREAMS_STORED_EACH_H
#define AX_CLI_STREAMS_STORED_EACH_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"

/* One message; all is borrowed for the call. */
typedef void (*stored_each_cb)(void *arg, const char *subject, uint64_t seq, natsMsg *msg);

/* Calls each for every message from sequence `from` on whose subject matches filter, in their
 * order; batch: how many are asked for at a time. Whichever server has a replica answers, and that
 * replica may lag. nc: borrowed. AX_E_TIMEOUT, AX_E_NO_RESPONDERS, AX_E_DISCONNECTED, AX_E_SERVER,
 * AX_E_PROTOCOL, AX_E_NOMEM: p says which stream and why, and the rest was not read. */
ax_err stored_each(natsConnection *nc, const char *stream, const char *filter, uint64_t from,
                   int batch, stored_each_cb each, void *arg, struct problem *p);

#endif
