/* What ingress and dispatch tell each other while a queue is full, so that groups share it
 * (docs/design.md, "Sharing a queue"): ingress that it refused tasks of a group, the pool's leader
 * what each group holds. Hints, published plainly: without them a queue is first come, first
 * served. Parsers of foreign input. Pure. */
#ifndef AX_CORE_PRESSURE_H
#define AX_CORE_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/names.h"

#define REFUSED_PREFIX "ax.refused." /* <priority>.<pool>, ax.v1.Refused */
#define HELD_PREFIX "ax.held."       /* <priority>.<pool>, ax.v1.Held */
#define HELD_GROUPS_MAX 2000

/* "<prefix><priority>.<pool>" taken apart. False: not such a subject. */
bool pressure_parse_subject(const char *subject, const char *prefix,
                            char priority[NAME_MAX_CHARS + 1], char pool[NAME_MAX_CHARS + 1]);

struct refused {
    char group[GROUP_MAX_BYTES + 1]; /* "": tasks that name none */
    uint32_t count;
};
#define REFUSED_MAX_BYTES 128
size_t refused_pack(const struct refused *r, uint8_t buf[REFUSED_MAX_BYTES]);
/* AX_E_PROTOCOL, AX_E_NOMEM. */
ax_err refused_unpack(struct refused *r, const void *data, size_t bytes);

struct held_group {
    char group[GROUP_MAX_BYTES + 1];
    uint32_t held;
};
struct held {
    /* owned by the caller of held_pack; by held_unpack's until held_clear */
    struct held_group *groups;
    size_t count; /* up to HELD_GROUPS_MAX */
    uint64_t others;
};
/* The message; caller frees. NULL: out of memory. */
uint8_t *held_pack(const struct held *h, size_t *bytes);
ax_err held_unpack(struct held *h, const void *data, size_t bytes);
void held_clear(struct held *h);

#endif
