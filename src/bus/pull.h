/* Pull requests that others make: what a worker asks a consumer for. A parser of foreign input.
 * Pure functions. */
#ifndef AX_BUS_PULL_H
#define AX_BUS_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "task/names.h"

/* A pull request ($JS.API.CONSUMER.MSG.NEXT payload): "" (= batch 1), a bare number, or JSON
 * {"batch":n,"expires":ns,"no_wait":bool,"max_bytes":n,"idle_heartbeat":ns, …}. */
#define PULL_BATCH_MAX 1000000                         /* more counts as so many */
#define PULL_EXPIRES_MAX_NS (24 * 3600 * 1000000000LL) /* longer ones count as so long */
struct pull_request {
    int64_t batch;        /* 1 to PULL_BATCH_MAX; for none or fewer the server serves one message */
    int64_t expires_ns;   /* 0 to PULL_EXPIRES_MAX_NS; 0: does not expire */
    int64_t heartbeat_ns; /* 0: none; else how often the server says that it is there */
    bool no_wait;
};
/* False: the server will refuse it too. */
bool pull_parse(const char *data, size_t bytes, struct pull_request *out);

/* The pool in "$JS.API.CONSUMER.MSG.NEXT.AX_WORK.<pool>" (with or without a domain prefix
 * "$JS.<domain>.API"); false if it is none. */
bool pull_parse_subject(const char *subject, char pool[NAME_MAX_CHARS + 1]);

#endif
