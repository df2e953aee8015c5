/* How many messages a stream has. Blocking. */
#ifndef AX_CLI_STREAMS_STORED_COUNT_H
#define AX_CLI_STREAMS_STORED_COUNT_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"

/* Messages on the subjects that match filter; nc: borrowed. The errors of stored_each. */
ax_err stored_count(natsConnection *nc, const char *stream, const char *filter, uint64_t *out,
                    struct problem *p);

#endif
