#include "ingress/dead_room.h"

#include <inttypes.h>

#include "base/log.h"
#include "ingress/ingress.h"

void dead_room_learn(struct ingress *ing, const struct stream_info *info)
{
    struct dead_room *r = &ing->dead_room;
    r->bytes = info->bytes;
    r->max_bytes = info->max_dead_bytes >= 0 ? info->max_dead_bytes : STREAM_INFO_MAX_DEAD_BYTES;
    metric_set(ing->counters.memory.dead_bytes, (int64_t)r->bytes);
    metric_set(ing->counters.memory.dead_bytes_limit, r->max_bytes);
}

bool dead_room_take(struct ingress *ing, const char *subject, int64_t bytes)
{
    static struct log_gate gate;
    char text[300];
    struct dead_room *r = &ing->dead_room;
    if (r->max_bytes == 0 || r->bytes + (uint64_t)bytes <= (uint64_t)r->max_bytes) {
        r->bytes += (uint64_t)bytes;
        return true;
    }
    metric_add(ing->counters.memory.dropped[REFUSED_DEAD_FULL], 1);
    log_limited(&gate, loop_now_ns(ing->loop), LOG_WARN,
                "AX_DEAD is full: submission without reply subject dropped",
                "subject=%s bytes=%" PRIu64 " limit=%" PRId64,
                log_quote(subject, text, sizeof(text)), r->bytes, r->max_bytes);
    return false;
}
