/* An answer on ax.figures (docs/protocol.md, "Stats"): its fields, one row each. A row makes the
 * member of the struct, the JSON that a daemon writes from it and what the command line reads back
 * into it. To answer one more number, add a row here, let the daemon set the member and describe it
 * in docs/protocol.md. What the last minutes were is counted by series: a row there is a series of
 * the daemon's history too (stats/history.h).
 *
 * JSON null, and a field that is missing, stand for "not known". Pure but for stats_answer_send. */
#ifndef AX_STATS_STATS_ANSWER_H
#define AX_STATS_STATS_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "bus/wire.h"

/* Kinds of fields, and the value of one that is not known. */
#define STATS_TEXT_BYTES 160
#define STATS_DECLARE_TEXT(name) char name[STATS_TEXT_BYTES]; /* "" */
#define STATS_DECLARE_FLAG(name) bool name;                   /* false */
#define STATS_DECLARE_WHOLE(name) int64_t name;               /* 0 */
#define STATS_DECLARE_COUNT(name) int64_t name;               /* -1; never below 0 otherwise */
#define STATS_DECLARE_OFFSET(name) int64_t name;              /* INT64_MIN */
#define STATS_DECLARE_REAL(name) double name;                 /* 0 */
#define STATS_DECLARE_SHARE(name) double name;                /* -1; never below 0 otherwise */
#define STATS_DECLARE(name, kind) STATS_DECLARE_##kind(name)

/* ---- what all daemons tell ---- */

#define STATS_DAEMON_FIELDS(X) \
    X(program, TEXT)           \
    X(name, TEXT)              \
    X(version, TEXT)           \
    X(ready, FLAG)             \
    X(part, WHOLE)             \
    X(parts, WHOLE)            \
    X(clock_behind_ms, OFFSET) \
    X(host_clock_ahead_ms, OFFSET)
struct stats_daemon {
    STATS_DAEMON_FIELDS(STATS_DECLARE)
};

/* ---- a pool, told by its leader ---- */

/* Of the last minute or five: X(series, name). */
#define STATS_POOL_SERIES(X)                \
    X(POOL_SERIES_PENDING, pending_rise)    \
    X(POOL_SERIES_HANDED_OFF, handed_off)   \
    X(POOL_SERIES_ENDED, ended)             \
    X(POOL_SERIES_TIMEOUTS, timeouts)       \
    X(POOL_SERIES_LATE_ACKS, late_acks)     \
    X(POOL_SERIES_DEAD, dead)               \
    X(POOL_SERIES_EXPIRED, leases_lapsed)   \
    X(POOL_SERIES_WAITED, waited_s)         \
    X(POOL_SERIES_LIMITED, limited_s)       \
    X(POOL_SERIES_CAPPED, capped_s)         \
    X(POOL_SERIES_LEASES_LOST, leases_lost) \
    X(POOL_SERIES_GROUPED, grouped_s)
enum pool_series {
#define X(series, name) series,
    STATS_POOL_SERIES(X)
#undef X
        POOL_SERIES_COUNT
};
/* What happened in the last `seconds`. */
struct stats_pool_recent {
    double seconds;
#define X(series, name) int64_t name;
    STATS_POOL_SERIES(X)
#undef X
};

#define STATS_DURATIONS_FIELDS(X) \
    X(count, COUNT)               \
    X(p50_ms, SHARE)              \
    X(p99_ms, SHARE)
struct stats_durations {
    STATS_DURATIONS_FIELDS(STATS_DECLARE)
};

#define STATS_POOL_FIELDS(X)  \
    X(pool, TEXT)             \
    X(ready, FLAG)            \
    X(paused, TEXT)           \
    X(busy, SHARE)            \
    X(demand, COUNT)          \
    X(pulls, COUNT)           \
    X(inflight, COUNT)        \
    X(max_ack_pending, COUNT) \
    X(rate, REAL)             \
    X(rate_now, REAL)         \
    X(tokens, COUNT)          \
    X(ack_wait_ms, COUNT)     \
    X(inflight_limit, COUNT)  \
    X(unprovisioned, TEXT)
/* Objects in it: X(name, type). Left out when the leader has no history. */
#define STATS_POOL_PARTS(X)      \
    X(run, stats_durations)      \
    X(silence, stats_durations)  \
    X(minute, stats_pool_recent) \
    X(five_minutes, stats_pool_recent)
struct stats_pool {
    STATS_POOL_FIELDS(STATS_DECLARE)
#define X(name, type) struct type name;
    STATS_POOL_PARTS(X)
#undef X
    /* Of an answer that was read only: */
    bool answered;
    int64_t pending; /* the sum of "pending", the tasks that wait in each priority */
};

/* ---- ingress ---- */

/* Of the last five minutes: X(series, name). */
#define STATS_INGRESS_SERIES(X)        \
    X(INGRESS_SERIES_REFUSED, refused) \
    X(INGRESS_SERIES_UNKNOWN, unknown) \
    X(INGRESS_SERIES_BURIED, buried)   \
    X(INGRESS_SERIES_GAPS, gaps)       \
    X(INGRESS_SERIES_UNREADABLE, unreadable)
enum ingress_series {
#define X(series, name) series,
    STATS_INGRESS_SERIES(X)
#undef X
        INGRESS_SERIES_COUNT
};
struct stats_ingress_recent {
    double seconds;
#define X(series, name) int64_t name;
    STATS_INGRESS_SERIES(X)
#undef X
};

#define STATS_LATER_FIELDS(X) \
    X(tasks, WHOLE)           \
    X(limit, WHOLE)
struct stats_later {
    STATS_LATER_FIELDS(STATS_DECLARE)
};

#define STATS_INGRESS_FIELDS(X) X(working, WHOLE)
#define STATS_INGRESS_PARTS(X) \
    X(later, stats_later)      \
    X(five_minutes, stats_ingress_recent)
struct stats_ingress {
    STATS_INGRESS_FIELDS(STATS_DECLARE)
#define X(name, type) struct type name;
    STATS_INGRESS_PARTS(X)
#undef X
};

/* One element of ingress's array "priorities". */
#define STATS_PRIORITY_FIELDS(X) \
    X(priority, TEXT)            \
    X(tasks, WHOLE)              \
    X(limit, COUNT)              \
    X(spilling, FLAG)            \
    X(busy_answers, WHOLE)
struct stats_priority {
    STATS_PRIORITY_FIELDS(STATS_DECLARE)
};

/* ---- writing ---- */

/* What this process tells of itself. program, name: copied. clock: borrowed. */
void stats_answer_daemon(struct stats_daemon *out, const char *program, const char *name,
                         bool ready, struct clock *clock);
/* Add the fields to the object o. False: out of memory, or o is NULL. */
bool stats_answer_put_daemon(json_t *o, const struct stats_daemon *from);
bool stats_answer_put_pool(json_t *o, const struct stats_pool *from, bool with_parts);
bool stats_answer_put_ingress(json_t *o, const struct stats_ingress *from);
bool stats_answer_put_priority(json_t *o, const struct stats_priority *from);
/* Sends the answer (taken; NULL: out of memory, which is logged) to `reply`. Loop lock. */
void stats_answer_send(struct wire *w, const char *reply, json_t *answer);

/* ---- reading ---- */

/* Read what the object o holds; whatever it does not hold, or holds as something else, is not
 * known. o NULL: nothing is. */
void stats_answer_read_daemon(const json_t *o, struct stats_daemon *out);
void stats_answer_read_pool(const json_t *o, struct stats_pool *out);
void stats_answer_read_ingress(const json_t *o, struct stats_ingress *out);
void stats_answer_read_priority(const json_t *o, struct stats_priority *out);

#endif
