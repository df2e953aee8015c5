/* What ingress counts, apart from what belongs to one priority (queue.h). Handles are looked up
 * once. */
#ifndef AX_INGRESS_COUNTERS_H
#define AX_INGRESS_COUNTERS_H

#include "stats/metrics.h"

/* Why a submission was not taken. */
#define REFUSALS(X)                       \
    X(REFUSED_INVALID, "invalid")         \
    X(REFUSED_PRIORITY, "priority")       \
    X(REFUSED_POOL, "pool")               \
    X(REFUSED_SIZE, "size")               \
    X(REFUSED_EXPIRED, "expired")         \
    X(REFUSED_CRON, "cron")               \
    X(REFUSED_CLOCK, "clock")             \
    X(REFUSED_LATER_FULL, "later_full")   \
    X(REFUSED_LATER_SHARE, "later_share") \
    X(REFUSED_SCHEDULES, "schedules")     \
    X(REFUSED_BUSY, "ingress_busy")       \
    X(REFUSED_MEMORY, "memory")           \
    X(REFUSED_POOL_MEMORY, "pool_memory") \
    X(REFUSED_RATE, "pool_rate")          \
    X(REFUSED_DEAD_FULL, "dead_full")     \
    X(REFUSED_SERVER, "server")
enum refusal {
#define X(name, text) name,
    REFUSALS(X)
#undef X
        REFUSAL_COUNT
};

/* States a known key is found in; the texts are those of the answers. */
#define STATES(X)               \
    X(STATE_QUEUED, "queued")   \
    X(STATE_RUNNING, "running") \
    X(STATE_LATER, "later")     \
    X(STATE_DONE, "done")       \
    X(STATE_DEAD, "dead")
enum state {
#define X(name, text) name,
    STATES(X)
#undef X
        STATE_COUNT
};
const char *counters_state_text(enum state s);

struct counters {
    struct metric *refused[REFUSAL_COUNT];
    struct metric *duplicates[STATE_COUNT];
    struct metric *accepted_later;
    struct {
        struct metric *fired, *skipped; /* firings of recurring tasks */
    } cron;
    struct metric *batches;
    struct metric *unknown;   /* answered "unknown, retry" */
    struct metric *buried;    /* no-reply submissions that went to AX_DEAD */
    struct metric *in_flight; /* gauge */
    struct metric *deferred;  /* gauge */
    struct metric *gaps;      /* stretches of a stream that were not observed and read again */
    struct metric *filter_checks, *filter_negatives, *filter_false_positives;
    /* gauges */
    struct metric *filter_entries, *filter_bytes, *index_entries, *index_bytes, *later_ids,
        *dead_ids;
    struct {
        struct metric *tasks, *limit, *bytes, *bytes_limit, *schedules,
            *schedules_limit; /* gauges */
        struct metric *swept;
    } later;
    struct {
        struct metric *dropped[REFUSAL_COUNT];        /* without a reply subject, and not kept */
        struct metric *bytes, *bytes_limit;           /* gauges */
        struct metric *dead_bytes, *dead_bytes_limit; /* gauges: AX_DEAD */
        struct metric *floods, *flooded;              /* counter, gauge */
    } memory;
    struct metric *foreign;             /* queue messages that no pool served */
    struct metric *pools, *pools_limit; /* gauges */
};

void counters_register(struct counters *c);

#endif
