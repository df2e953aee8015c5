/* Records of finished tasks that stand in pages (done/record.h): ingress has an index of them,
 * without it every page is read. Blocking. */
#ifndef AX_CLI_STREAMS_RECORDED_H
#define AX_CLI_STREAMS_RECORDED_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "done/record_batch.h"

/* Asks ingress. AX_OK: r and seq; AX_E_NOT_FOUND: there is none; else: it cannot tell. */
ax_err recorded_ask(natsConnection *nc, const char *id, struct record *r, uint64_t *seq,
                    struct problem *p);
/* Reads the pages after `after`, one by one; a newer one that has the id counts more. */
ax_err recorded_search(natsConnection *nc, const char *id, uint64_t after, struct record *r,
                       uint64_t *seq, struct problem *p);
/* True: msg is a page (as published) that records this task. */
bool recorded_in(natsMsg *msg, const char *id);
/* Number of records in the bucket. */
ax_err recorded_count(natsConnection *nc, uint64_t *out, struct problem *p);

#endif
