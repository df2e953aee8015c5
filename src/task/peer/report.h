/* What a worker may report to its dispatcher on ax.worker.<pool>.<worker>
 * (schemas/ax/v1/worker.proto), as protobuf or as JSON with the same fields. Pure. */
#ifndef AX_TASK_PEER_REPORT_H
#define AX_TASK_PEER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"
#include "task/peer/instance.h"

#define WORKER_PREFIX "ax.worker."
#define WORKER_SCHEMA "ax.v1.WorkerReport"
#define WORKER_NAME_MAX_CHARS INSTANCE_MAX_CHARS

#define REPORT_CAPACITY_MAX 1000000
#define REPORT_ERRORS_MAX 1000000000
#define REPORT_MS_MAX 31536000000.0 /* a year */

/* The types of fields, by kind. */
typedef uint32_t report_WHOLE;
typedef double report_REAL;

/* X(field, here, in JSON and in ax.v1.WorkerReport; kind; most: each is 0 … most). */
#define REPORT_TABLE(X)                                                         \
    X(capacity, WHOLE, REPORT_CAPACITY_MAX) /* 0: it stops, and is forgotten */ \
    X(busy, WHOLE, REPORT_CAPACITY_MAX)     /* at most capacity */              \
    X(load, REAL, 1)                                                            \
    X(errors, WHOLE, REPORT_ERRORS_MAX) /* since its last report */             \
    X(p50_ms, REAL, REPORT_MS_MAX)      /* at most p99_ms */                    \
    X(p99_ms, REAL, REPORT_MS_MAX)

struct report {
#define X(field, kind, most) report_##kind field;
    REPORT_TABLE(X)
#undef X
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

#endif
