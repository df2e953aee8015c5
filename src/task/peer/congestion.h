/* What ingress and dispatch publish while a queue is full, so that groups share it
 * (docs/design/groups.md, "Sharing a full queue"). Ingress says that it refused tasks of a
 * group, the pool's leader how many tasks of each group the queue holds. These are hints,
 * published plainly: without them a queue is first come, first served. Parsers of foreign input.
 * Pure. */
#ifndef AX_TASK_PEER_CONGESTION_H
#define AX_TASK_PEER_CONGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"

#define CONGESTION_REFUSED_PREFIX "ax.refused." /* <priority>.<pool>, ax.v1.Refused */
#define CONGESTION_OCCUPANCY_PREFIX "ax.held."  /* <priority>.<pool>, ax.v1.Held */
#define CONGESTION_GROUPS_MAX 2000

/* "<prefix><priority>.<pool>" taken apart. False: not such a subject. */
bool congestion_parse_subject(const char *subject, const char *prefix,
                              char priority[NAME_MAX_CHARS + 1], char pool[NAME_MAX_CHARS + 1]);

struct congestion_refusal {
    char group[GROUP_MAX_BYTES + 1]; /* "": tasks that name none */
    uint32_t count;
};
#define CONGESTION_REFUSAL_MAX_BYTES 128
size_t congestion_pack_refusal(const struct congestion_refusal *r,
                               uint8_t buf[CONGESTION_REFUSAL_MAX_BYTES]);
/* AX_E_PROTOCOL, AX_E_NOMEM. */
ax_err congestion_unpack_refusal(struct congestion_refusal *r, const void *data, size_t bytes);

struct congestion_group {
    char group[GROUP_MAX_BYTES + 1];
    uint32_t tasks;
};
struct congestion_occupancy {
    /* owned: by the caller of congestion_pack_occupancy, or until congestion_clear_occupancy */
    struct congestion_group *groups;
    size_t count;    /* up to CONGESTION_GROUPS_MAX */
    uint64_t others; /* tasks of all other groups */
};
/* The message; caller frees. NULL: out of memory. */
uint8_t *congestion_pack_occupancy(const struct congestion_occupancy *h, size_t *bytes);
ax_err congestion_unpack_occupancy(struct congestion_occupancy *h, const void *data, size_t bytes);
void congestion_clear_occupancy(struct congestion_occupancy *h);

#endif
