/* The soft bound of AX_LATER: a server-side limit would make schedules vanish
 * (docs/design/submitting.md), so ingress counts. */
#ifndef AX_INGRESS_FEED_LATER_H
#define AX_INGRESS_FEED_LATER_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/stream_info.h"

struct later {
    uint64_t messages; /* as last heard, plus what was added since */
    int64_t max;
};

static inline void later_init(struct later *l)
{
    *l = (struct later){.max = STREAM_INFO_MAX_LATER};
}

static inline void later_learn(struct later *l, const struct stream_info *info)
{
    l->messages = info->messages;
    l->max = info->max_later >= 0 ? info->max_later : STREAM_INFO_MAX_LATER;
}

static inline bool later_is_full(const struct later *l)
{
    return l->messages >= (uint64_t)l->max;
}

static inline void later_added(struct later *l)
{
    l->messages++;
}

#endif
