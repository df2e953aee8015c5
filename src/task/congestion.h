/* What ingress and dispatch tell each other while a queue is full, so that groups share it
 * (docs/design.md, "Sharing a queue"): ingress that it refused tasks of a group, the pool's leader
 * what each group holds. Hints, published plainly: without them a queue is first come, first
 * served. Parsers of foreign input. Pure. */
#ifndef AX_TASK_PRESSURE_H
#define AX_TASK_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"

#define REFUSED_PREFIX "ax.refused." /* <priority>.<pool>, ax.v1.Refused */
#define OCCUPANCY_PREFIX "ax.held."  /* <priority>.<pool>, ax.v1.Held */
#define OCCUPANCY_GROUPS_MAX 2000

/* "<prefix><priority>.<pool>" taken apart. False: not such a subject. */
bool congestion_parse_subject(const char *subject, const char *prefix,
                              char priority[NAME_MAX_CHARS + 1], char pool[NAME_MAX_CHARS + 1]);

struct refused {
    char group[GROUP_MAX_BYTES + 1]; /* "": tasks that name none */
    uint32_t count;
};
#define REFUSED_MAX_BYTES 128
size_t refused_pack(const struct refused *r, uint8_t buf[REFUSED_MAX_BYTES]);
/* AX_E_PROTOCOL, AX_E_NOMEM. */
ax_err refused_unpack(struct refused *r, const void *data, size_t bytes);

struct occupancy_group {
    char group[GROUP_MAX_BYTES + 1];
    uint32_t held;
};
struct held {
    /* owned by the caller of occupancy_pack; by occupancy_unpack's until held_clear */
    struct occupancy_group *groups;
    size_t count; /* up to OCCUPANCY_GROUPS_MAX */
    uint64_t others;
};
/* The message; caller frees. NULL: out of memory. */
uint8_t *occupancy_pack(const struct held *h, size_t *bytes);
ax_err occupancy_unpack(struct held *h, const void *data, size_t bytes);
void held_clear(struct held *h);

#endif
