/* The bound of what senders can have stored in AX_DEAD: submissions that nobody waits for, and that
 * are not valid or find no room. Dead letters of tasks that were accepted are never kept out. Lock
 * of the loop held. */
#ifndef AX_INGRESS_DEAD_ROOM_H
#define AX_INGRESS_DEAD_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/stream_info.h"

struct ingress;

/* Zeroed: anything is let in. */
struct dead_room {
    uint64_t bytes;    /* in AX_DEAD as last heard, plus what was stored since */
    int64_t max_bytes; /* ax.max_dead_bytes; 0: not heard yet, or no bound */
};

/* AX_DEAD was read. */
void dead_room_learn(struct ingress *ing, const struct stream_info *info);
/* May a message of so many bytes be stored? True: it is counted. False: it is to be dropped, which
 * is counted and logged; subject: the submission's. */
bool dead_room_take(struct ingress *ing, const char *subject, int64_t bytes);

#endif
