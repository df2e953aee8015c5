/* What a worker may tell its dispatcher on ax.worker.<pool>.<worker> (schemas/ax/v1/worker.proto),
 * as protobuf or as JSON with the same fields. Pure. */
#ifndef AX_TASK_PEER_REPORT_H
#define AX_TASK_PEER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"

#define WORKER_PREFIX "ax.worker."
#define WORKER_SCHEMA "ax.v1.WorkerReport"
#define WORKER_NAME_MAX_CHARS 64 /* [A-Za-z0-9_-]{1,64} */

#define REPORT_CAPACITY_MAX 1000000
#define REPORT_ERRORS_MAX 1000000000
#define REPORT_MS_MAX 31536000000.0 /* a year */

struct report {
    uint32_t capacity;     /* 0 … REPORT_CAPACITY_MAX; 0: it stops, and is to be forgotten */
    uint32_t busy;         /* 0 … capacity */
    double load;           /* 0 … 1 */
    uint32_t errors;       /* 0 … REPORT_ERRORS_MAX, since its last report */
    double p50_ms, p99_ms; /* 0 … REPORT_MS_MAX, p50_ms <= p99_ms */
};

#define REPORT_MAX_BYTES 64
/* Packs as protobuf into buf[REPORT_MAX_BYTES]; returns the length. r must be valid. */
size_t report_pack(const struct report *r, uint8_t *buf);
/* schema: the message's header Ax-Schema: WORKER_SCHEMA for protobuf, NULL for JSON. On error *r is
 * untouched. AX_E_INVALID: p names field, value and what is allowed. AX_E_NOMEM. */
ax_err report_parse(struct report *r, const char *schema, const void *data, size_t bytes,
                    struct problem *p);
/* "ax.worker.<pool>.<worker>" taken apart. False: it is not that. */
bool report_parse_subject(const char *subject, char pool[NAME_MAX_CHARS + 1],
                          char worker[WORKER_NAME_MAX_CHARS + 1]);
/* [A-Za-z0-9_-]{1,64}. */
bool report_worker_is_valid(const char *name);

#endif
