/* Settings of a pool: JSON in the bucket AX_POOLS, key = pool (docs/design.md). Every field
 * optional; unknown fields and values out of range are refused with the field's name. Pure. */
#ifndef AX_TASK_SETTINGS_H
#define AX_TASK_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"

#define SETTINGS_WEIGHTS_MAX 128 /* groups with a weight of their own */

struct settings {
    double rate; /* "rate": starts per second, 0 (default) = unlimited, up to 1e6 */
    /* "adaptive": the rate follows the workers, between rate_floor and rate; default false */
    bool adaptive;
    /* "rate_floor": 0 (default: one task at a time) … 1e6; above rate it counts as rate */
    double rate_floor;
    /* "tolerance": run times this many times the normal ones are pressure, 1.02 … 10; default
     * 1.15 */
    double tolerance;
    /* "fail_ratio": a part of failures so much above the usual is pressure, 0.01 … 1; default
     * 0.1 */
    double fail_ratio;
    double burst;           /* "burst": 1 … 1e6; default: a fifth of rate, at least 1 */
    int64_t batch;          /* "batch": un-acked tasks per pull, 1 … 1000; default 20 */
    double share;           /* "share": kept for lower priorities, 0 … 0.5; default 0.05 */
    int32_t max_retry;      /* "max_retry": 0 … 1000; default 3 */
    int64_t backoff_ms;     /* "backoff": duration string ("30s"), 1ms … 1h; default 30s */
    int64_t backoff_cap_ms; /* "backoff_cap": 1ms … 24h; default 1h */
    uint32_t max_timeouts;  /* "max_timeouts": 0 … 1000; default 10 */
    bool paused;            /* "paused": nothing new is started; default false */
    /* Of the tasks that name a group, for each group: */
    /* "group_rate": starts per second, 0 (default) = unlimited, up to 1e6 */
    double group_rate;
    /* "group_burst": 1 … 1e6; default: a fifth of group_rate, at least 1 */
    double group_burst;
    /* "group_concurrency": running at a time, 0 (default) = unlimited, up to 1e6 */
    int64_t group_concurrency;
    /* "group_weight": turns of a group that group_weights does not name, 1 … 100; default 1 */
    int32_t group_weight;
    struct {
        int count;
        struct {
            char group[GROUP_MAX_BYTES + 1];
            int32_t weight;
        } list[SETTINGS_WEIGHTS_MAX];
    } group_weights; /* "group_weights": {"acme":3}, 1 … 100 each */
    /* "window": how long a finished key is remembered, 1m … 7d; default 7d */
    int64_t window_ms;
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
/* Anything said about groups? */
bool settings_limit_groups(const struct settings *s);

#endif
