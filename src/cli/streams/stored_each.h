/* Reads many messages of a stream, a batch at a time. Blocking. */
#ifndef AX_CLI_STREAMS_STORED_EACH_H
#define AX_CLI_STREAMS_STORED_EACH_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"

/* One message; time_ns: when the server stored it, 0: not told. All is borrowed for the call. */
typedef void (*stored_each_cb)(void *arg, const char *subject, uint64_t seq, int64_t time_ns,
                               natsMsg *msg);

struct stored_range {
    const char *stream, *filter; /* subject, wildcards allowed; borrowed */
    uint64_t from;               /* first sequence, 0: all */
    int64_t limit;               /* at most so many messages, 0: all */
    int batch;                   /* how many are asked for at a time */
    uint64_t left;               /* set: messages behind those that were read */
};

/* Calls each for the messages of the range, in their order. Whichever server has a replica answers,
 * and that replica may lag. nc: borrowed. AX_E_TIMEOUT, AX_E_NO_RESPONDERS, AX_E_DISCONNECTED,
 * AX_E_SERVER, AX_E_PROTOCOL, AX_E_NOMEM: p says which stream and why, and the rest was not
 * read. */
ax_err stored_each(natsConnection *nc, struct stored_range *range, stored_each_cb each, void *arg,
                   struct problem *p);

#endif
