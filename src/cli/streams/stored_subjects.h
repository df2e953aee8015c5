/* Which subjects a stream has messages on. Blocking. */
#ifndef AX_CLI_STREAMS_STORED_SUBJECTS_H
#define AX_CLI_STREAMS_STORED_SUBJECTS_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"

/* Another value than AX_OK ends the reading with it; p says why then. */
typedef ax_err (*stored_subjects_cb)(void *arg, const char *subject, struct problem *p);

/* Calls each for every subject that matches filter, in no order; the server lists many at a time.
 * *messages (may be NULL): how many messages the whole stream has. nc: borrowed. The errors of
 * stored_request. */
ax_err stored_subjects(natsConnection *nc, const char *stream, const char *filter,
                       stored_subjects_cb each, void *arg, uint64_t *messages, struct problem *p);

#endif
