/* Settings of a pool: JSON in the bucket AX_POOLS, key = pool (docs/design.md). Every field optional; unknown fields and
 * values out of range are refused with the field's name. Pure. */
#ifndef AX_CORE_SETTINGS_H
#define AX_CORE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct settings {
    double rate;             /* "rate": starts per second, 0 (default) = unlimited, up to 1e6 */
    double burst;            /* "burst": 1 … 1e6; default: a fifth of rate, at least 1 */
    int64_t batch;           /* "batch": un-acked tasks per pull, 1 … 1000; default 20 */
    double share;            /* "share": kept for lower priorities, 0 … 0.5; default 0.05 */
    int32_t max_retry;       /* "max_retry": 0 … 1000; default 3 */
    int64_t backoff_ms;      /* "backoff": duration string ("30s"), 1ms … 1h; default 30s */
    int64_t backoff_cap_ms;  /* "backoff_cap": 1ms … 24h; default 1h */
    uint32_t max_timeouts;   /* "max_timeouts": 0 … 1000; default 10 */
    int64_t window_ms;       /* "window": how long a finished key is remembered, 1m … 7d; default 7d */
};

void settings_default(struct settings *s);
/* bytes bytes at json (not NUL-terminated). On error *s is untouched. Empty input or "{}" = all defaults. */
ax_err settings_parse(struct settings *s, const char *json, size_t bytes, struct problem *p);
/* Sets one field from text ("rate", "50"); the way `ax pool set` works. */
ax_err settings_set(struct settings *s, const char *field, const char *value, struct problem *p);
/* JSON of all fields that differ from the default; caller frees. NULL: out of memory. */
char *settings_format(const struct settings *s);

#endif
