/* The bounds of AX_LATER. A limit at the server would make schedules vanish
 * (docs/design/submitting.md), so ingress counts: tasks, bytes, and what one pool may have of them
 * while others contend. Lock of the loop held in every call. */
#ifndef AX_INGRESS_FEED_LATER_H
#define AX_INGRESS_FEED_LATER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bus/stream_info.h"
#include "ingress/queue/pool_shares.h"

struct ingress;

struct later {
    uint64_t messages, bytes;    /* as last heard, plus what was added since */
    uint64_t going, going_bytes; /* let in and not answered yet */
    int64_t max, max_bytes;      /* ax.max_later, ax.max_later_bytes */
    int64_t max_schedules;       /* ax.max_schedules */
    double pool_share;           /* ax.pool_share */
    int64_t heard_ns;            /* monotonic; 0: never */
    bool asking;
    struct pool_shares *pools; /* NULL: nobody asked for room yet */
};

enum later_room {
    LATER_ROOM,       /* counted as on its way */
    LATER_FULL,       /* as many tasks as may be */
    LATER_FULL_BYTES, /* as many bytes as may be */
    LATER_OVER_SHARE, /* its pool holds its share */
    LATER_UNREADY,    /* the server is being asked: try again in a moment */
};

void later_init(struct later *l);
/* AX_LATER was read. */
void later_learn(struct ingress *ing, const struct stream_info *info);
/* A place for one task, from later_take to later_settled. Zero: none. */
struct later_place {
    bool taken;
    size_t bytes;
    struct pool_held *held;
};

/* May a task of pool with a body of so many bytes be stored? ROOM: *out is taken. OVER_SHARE: *e
 * says what the pool has. */
enum later_room later_take(struct ingress *ing, const char *pool, size_t bytes,
                           struct later_place *out, struct over_quota *e);
/* The task was stored, as one more, or was not. *place is none afterwards. */
void later_settled(struct later *l, struct later_place *place, bool stored);

#endif
