/* Records of finished tasks in record batches (done/record_batch.h). Ingress has an index of them;
 * without it every batch is read. Blocking. nc: borrowed. */
#ifndef AX_CLI_STREAMS_RECORDED_H
#define AX_CLI_STREAMS_RECORDED_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "done/record_batch.h"

/* Asks ingress for the record of this task. AX_OK: *r, and *seq of the batch that it stands in.
 * AX_E_NOT_FOUND: there is none. Any other error: ingress cannot tell; p says why. */
ax_err recorded_ask(natsConnection *nc, const char *id, struct record *r, uint64_t *seq,
                    struct problem *p);
/* Reads all batches after sequence `after`; of several records of the task the newest counts.
 * AX_E_NOT_FOUND: there is none. The errors of stored_each; p says why. */
ax_err recorded_search(natsConnection *nc, const char *id, uint64_t after, struct record *r,
                       uint64_t *seq, struct problem *p);
/* True: msg is a record batch, as it is published, that records this task. */
bool recorded_in(natsMsg *msg, const char *id);
/* How many records AX_DONE holds. The errors of stored_request; p says why. */
ax_err recorded_count(natsConnection *nc, uint64_t *out, struct problem *p);

#endif
