/* The recurring tasks in AX_LATER: how many there are, and of which pools, so that their number is
 * bounded (docs/design/time.md, "Recurring tasks"). Learnt from what is read of AX_LATER and heard;
 * one that was removed is noticed when it is looked for, in turn. Lock of the loop held in every
 * call. */
#ifndef AX_INGRESS_SCHEDULES_H
#define AX_INGRESS_SCHEDULES_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "ingress/queue/shares.h"
#include "task/names.h"

struct ingress;
struct schedules;

enum schedules_room {
    SCHEDULES_ROOM,
    SCHEDULES_FULL,       /* ax.max_schedules */
    SCHEDULES_OVER_SHARE, /* its pool has its share */
};

/* AX_E_NOMEM. */
ax_err schedules_start(struct schedules **out, struct ingress *ing);
/* The message of a schedule was read, heard, or is being stored. */
void schedules_saw(struct schedules *s, const char *pool, const char *id);
/* May pool have one more? OVER_SHARE: *e says what it has. */
enum schedules_room schedules_room(const struct schedules *s, const char *pool,
                                   struct over_quota *e);
int64_t schedules_count(const struct schedules *s);
/* A new array of "pool.id", at most `most` of them after the first `from`. NULL: out of memory. */
json_t *schedules_json(const struct schedules *s, int64_t from, int64_t most);

#endif
