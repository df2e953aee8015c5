/* Settings of a pool: JSON in the bucket AX_POOLS, key = pool (docs/tuning.md).
 * Every field is optional. An unknown field or a value out of range is refused, and the error
 * names it. A new setting is a row of the table, the place that uses it, and a row in
 * docs/tuning.md. Pure. */
#ifndef AX_TASK_SETTINGS_H
#define AX_TASK_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/backoff.h"
#include "task/names.h"

#define SETTINGS_WEIGHTS_MAX 128 /* groups with a weight of their own */
#define SETTINGS_HOUR_MS 3600000LL
#define SETTINGS_DAY_MS (24 * SETTINGS_HOUR_MS)

/* The types of settings, by kind. */
typedef double settings_REAL;
typedef int64_t settings_WHOLE;
typedef int64_t settings_DURATION; /* milliseconds; text such as "30s" in JSON */
typedef bool settings_SWITCH;
typedef struct {
    int count;
    struct {
        char group[GROUP_MAX_BYTES + 1];
        int32_t weight;
    } list[SETTINGS_WEIGHTS_MAX];
} settings_WEIGHTS; /* {"acme":3} in JSON; min and max are those of a weight */

/* X(field of struct settings, name in JSON, kind, min, max, default, help). burst and group_burst
 * that are not given follow rate and group_rate: a fifth of it, at least 1. */
#define SETTINGS_TABLE(X)                                                                   \
    X(rate, rate, REAL, 0, 1e6, 0, "starts a second, retries included; 0: no limit")        \
    X(burst, burst, REAL, 1, 1e6, 1, "starts saved up; a fifth of rate unless it is given") \
    X(adaptive, adaptive, SWITCH, 0, 1, false,                                              \
      "the rate follows what the workers sustain; rate is the most")                        \
    X(rate_floor, rate_floor, REAL, 0, 1e6, 0,                                              \
      "adaptive: starts a second that it is not lowered below; 0: one task at a time")      \
    X(tolerance, tolerance, REAL, 1.02, 10, 1.15,                                           \
      "adaptive: run times this many times the normal ones are too long")                   \
    X(fail_ratio, fail_ratio, REAL, 0.01, 1, 0.1,                                           \
      "adaptive: a part of failures this much above the usual is too large; 1: never")      \
    X(batch, batch, WHOLE, 1, 1000, 20, "un-acked tasks for one pull request of a worker")  \
    X(share, share, REAL, 0, 0.5, 0.05,                                                     \
      "part of the starts kept for lower priorities while a higher one has tasks")          \
    X(max_retry, max_retry, WHOLE, 0, 1000, 3,                                              \
      "retries after the first attempt, where the task does not say")                       \
    X(backoff_ms, backoff, DURATION, 1, SETTINGS_HOUR_MS, BACKOFF_BASE_MS,                  \
      "base of the exponential backoff, where the task does not say")                       \
    X(backoff_cap_ms, backoff_cap, DURATION, 1, SETTINGS_DAY_MS, BACKOFF_CAP_MS,            \
      "longest backoff")                                                                    \
    X(max_timeouts, max_timeouts, WHOLE, 0, 1000, 10,                                       \
      "attempts that may end in silence before the dead letter")                            \
    X(window_ms, window, DURATION, 60000, 7 * SETTINGS_DAY_MS, 7 * SETTINGS_DAY_MS,         \
      "how long a finished key is remembered")                                              \
    X(group_rate, group_rate, REAL, 0, 1e6, 0,                                              \
      "starts a second of each group, retries included; 0: no limit")                       \
    X(group_burst, group_burst, REAL, 1, 1e6, 1, "the same as burst, of each group")        \
    X(group_concurrency, group_concurrency, WHOLE, 0, 1e6, 0,                               \
      "tasks of each group that run at a time; 0: no limit")                                \
    X(group_weight, group_weight, WHOLE, 1, 100, 1,                                         \
      "turns of a group in a round, where group_weights does not name it")                  \
    X(group_weights, group_weights, WEIGHTS, 1, 100, {0},                                   \
      "such as {\"acme\":3}: acme has three turns where a group of weight 1 has one")       \
    X(paused, paused, SWITCH, 0, 1, false, "nothing new is started")

struct settings {
#define X(field, name, kind, ...) settings_##kind field;
    SETTINGS_TABLE(X)
#undef X
};

void settings_default(struct settings *s);
/* bytes bytes at json (not NUL-terminated). On error *s is untouched. Empty input or "{}" = all
 * defaults. */
ax_err settings_parse(struct settings *s, const char *json, size_t bytes, struct problem *p);
/* Sets one field from text ("rate", "50"); the way `ax pool set` works. */
ax_err settings_set(struct settings *s, const char *field, const char *value, struct problem *p);
/* JSON of all fields that differ from the default; caller frees. NULL: out of memory. */
char *settings_format(const struct settings *s);

/* The weight of a group; NULL: of the tasks that name none. */
int32_t settings_weight(const struct settings *s, const char *group);
/* Does any setting limit groups or weigh them? */
bool settings_limit_groups(const struct settings *s);

#endif
