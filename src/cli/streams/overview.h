/* How many tasks there are in every state, as the streams count them. */
#ifndef AX_CLI_STREAMS_OVERVIEW_H
#define AX_CLI_STREAMS_OVERVIEW_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/provision/provision.h"

struct overview {
    struct priorities queues; /* messages: unfinished tasks, those running included */
    uint64_t work;            /* handed over to workers or waiting for one */
    uint64_t later, spilled, dead, done;
};
/* Blocks. nc: borrowed. The errors of stored_request; p says what is wrong. */
ax_err overview_read(natsConnection *nc, struct overview *out, struct problem *p);

#endif
