/* Ordered tasks whose next attempt waits in AX_LATER, or is on its way from there: until it has
 * run, they hold up the tasks of their group queue. Loop lock. */
#ifndef AX_DISPATCH_FAIR_PENDING_RETRY_H
#define AX_DISPATCH_FAIR_PENDING_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "task/names.h"

struct group_queue;

struct pending_retry {
    char id[TASK_ID_CHARS + 1];
    bool ended; /* while a rebuild is under way, as order_slot.ended */
    uint32_t rebuild;
    UT_hash_handle hh; /* group_queue->order.pending_retries, by id */
};

/* A retry of this task was written (written: true), or is stored as a rebuild found (false), which
 * may have read a retry that has ended since. Marks it as seen by the present rebuild. Without
 * memory the process ends: tasks behind it would overtake it. */
void pending_retry_add(struct group_queue *gq, const char *id, bool written);
/* The task has ended. No-op if none is pending. */
void pending_retry_end(struct group_queue *gq, const char *id);
/* A retry of this task is pending. */
bool pending_retry_exists(const struct group_queue *gq, const char *id);
/* Any task with a pending retry; NULL: none. */
const struct pending_retry *pending_retry_any(const struct group_queue *gq);
/* A rebuild has ended: frees those that ended and those that it has not seen. */
void pending_retry_tidy(struct group_queue *gq);
/* Frees all. */
void pending_retry_clear(struct group_queue *gq);

#endif
