/* Messages that JetStream holds, read through the stream's leader (never a stale replica).
 * Blocking. */
#ifndef AX_CLI_STREAMS_STORED_H
#define AX_CLI_STREAMS_STORED_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"

struct stored {
    char subject[256];
    uint64_t seq;
    int64_t time_ns; /* when the server stored it */
    natsMsg *msg;    /* headers and body */
};

/* The last message on subject (wildcards allowed). AX_E_NOT_FOUND: none. */
ax_err stored_last(natsConnection *nc, const char *stream, const char *subject, struct stored *out,
                   struct problem *p);
/* The first message at or after seq whose subject matches filter. AX_E_NOT_FOUND: none. */
ax_err stored_next(natsConnection *nc, const char *stream, const char *filter, uint64_t seq,
                   struct stored *out, struct problem *p);
/* Deletes a message. AX_E_NOT_FOUND: it is gone already. */
ax_err stored_delete(natsConnection *nc, const char *stream, uint64_t seq, struct problem *p);
/* Safe on a zeroed one and twice. */
void stored_clear(struct stored *s);

/* A header's value, NULL if there is none (borrowed from msg). */
const char *stored_header(natsMsg *msg, const char *name);
/* The same as a number, fallback when missing or no number. */
int64_t stored_number(natsMsg *msg, const char *name, int64_t fallback);

/* Publishes msg (borrowed) to a stream and waits for the PubAck; asks again while there is no word,
 * for up to 10 s: make repeats safe. *err_code (may be NULL): what the server refused with
 * (AX_E_SERVER). */
ax_err stored_publish(natsConnection *nc, natsMsg *msg, int *err_code, struct problem *p);

#endif
