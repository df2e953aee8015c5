/* What the stats of a pool advise to change: said by `ax pool ls` and by `ax doctor`. Pure. */
#ifndef AX_CLI_STREAMS_ADVICE_H
#define AX_CLI_STREAMS_ADVICE_H

#include <stdbool.h>

#include "stats/stats_answer.h"

struct advice {
    char text[240]; /* what was seen */
    char fix[160];  /* what to do */
};

/* Is ack_wait long enough for what attempts take? False: there is nothing to advise. */
bool advice_ack_wait(const char *pool, const struct stats_pool *s, struct advice *out);
/* Can the settings be read, as they are in the bucket (JSON, NUL-terminated)? The same. */
bool advice_settings(const char *pool, const char *json, struct advice *out);
/* Are living workers declared dead? The same. */
bool advice_late_acks(const char *pool, const struct stats_pool *s, struct advice *out);

#endif
