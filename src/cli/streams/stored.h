/* Messages that JetStream holds, read through the stream's leader (never a stale replica).
 * Blocking. */
#ifndef AX_CLI_STREAMS_STORED_H
#define AX_CLI_STREAMS_STORED_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"

struct stored {
    char subject[256];
    uint64_t seq;
    int64_t time_ns; /* when the server stored it; 0: not told */
    natsMsg *msg;    /* headers and body; owned */
};

/* One request of the JetStream API about a stream; what: "STREAM.INFO", without the stream's name.
 * payload (NULL: none) is taken. *reply: a new reference, when AX_OK. err_code (may be NULL): 0, or
 * what the server refused with (bus/jserr.h). AX_E_SERVER, AX_E_TIMEOUT, AX_E_NO_RESPONDERS,
 * AX_E_DISCONNECTED, AX_E_PROTOCOL, AX_E_NOMEM: p says what is wrong. nc: borrowed, here and
 * below. */
ax_err stored_request(natsConnection *nc, const char *what, const char *stream, json_t *payload,
                      json_t **reply, int *err_code, struct problem *p);

/* The last message on subject (wildcards allowed). AX_E_NOT_FOUND: none, and p is not set; the
 * errors of stored_request. *out is cleared by stored_clear in any case. */
ax_err stored_last(natsConnection *nc, const char *stream, const char *subject, struct stored *out,
                   struct problem *p);
/* The first message at or after seq whose subject matches filter. The same errors. */
ax_err stored_next(natsConnection *nc, const char *stream, const char *filter, uint64_t seq,
                   struct stored *out, struct problem *p);
/* Deletes a message. AX_E_NOT_FOUND: it is deleted already. */
ax_err stored_delete(natsConnection *nc, const char *stream, uint64_t seq, struct problem *p);
/* Safe on a zeroed one and twice. */
void stored_clear(struct stored *s);

/* A header's value, NULL if there is none (borrowed from msg). */
const char *stored_header(natsMsg *msg, const char *name);
/* The same as a number, fallback when it is missing or no number. */
int64_t stored_number(natsMsg *msg, const char *name, int64_t fallback);

/* Publishes msg (borrowed) to a stream and waits for the PubAck. It repeats the publish while there
 * is no answer, for up to 10 s: the caller sees to it that a repeat does no harm. *err_code (may be
 * NULL): what the server refused with (AX_E_SERVER). */
ax_err stored_publish(natsConnection *nc, natsMsg *msg, int *err_code, struct problem *p);

#endif
