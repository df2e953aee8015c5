/* Acks that a dispatcher heard and could not record before it lost the pool; it publishes them
 * for the next leader (docs/design/acks.md, "Unrecorded acks"). A hint, published plainly:
 * without it a task whose hand-off AX_WORK has forgotten runs again. Parser of foreign input.
 * Pure. */
#ifndef AX_TASK_PEER_UNRECORDED_H
#define AX_TASK_PEER_UNRECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"

#define UNRECORDED_PREFIX "ax.acked." /* <pool>, ax.v1.Acked */
#define UNRECORDED_MAX 500            /* in one message */

struct unrecorded_attempt {
    char task[TASK_ID_CHARS + 1];
    uint32_t attempt;
    uint64_t fence;
};

/* The message of up to UNRECORDED_MAX attempts; caller frees. NULL: out of memory. */
uint8_t *unrecorded_pack(const struct unrecorded_attempt *list, size_t count, size_t *bytes);
/* *list: caller frees; NULL unless AX_OK. AX_E_PROTOCOL (one bad entry is enough), AX_E_NOMEM. */
ax_err unrecorded_unpack(struct unrecorded_attempt **list, size_t *count, const void *data,
                         size_t bytes);

#endif
