/* Priorities: the streams whose metadata has ax.rank. Pure, except for priorities_read. */
#ifndef AX_BUS_PROVISION_PRIORITIES_H
#define AX_BUS_PROVISION_PRIORITIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/provision/pages.h"
#include "bus/stream_info.h"
#include "task/names.h"

#define PRIORITIES_MAX 16

struct priority {
    char name[NAME_MAX_CHARS + 1]; /* the token after ax.queue. in the stream's subject */
    char stream[64];
    int rank;   /* lower = first */
    bool spill; /* ax.on_full = spill */
    /* ax.group_share: part of max_msgs that groups share when it is full, 0 (not at all) … 1 */
    double group_share;
    /* ax.pool_share: part of max_msgs that one pool may hold while others contend, 0 … 1 */
    double pool_share;
    int64_t max_msgs;  /* as the server has it now; -1 unlimited */
    uint64_t messages; /* at the time of reading */
    int64_t consumers; /* the same */
};

struct priorities {
    int count; /* sorted by rank, then name */
    struct priority list[PRIORITIES_MAX];
};

/* Index of the named priority, -1: none. */
int priorities_find(const struct priorities *ps, const char *name);

/* Adds the stream if it is a priority, in its place. One that has ax.rank and is none all the same
 * is warned of, once a minute. AX_E_FULL: more than PRIORITIES_MAX; p says so. */
ax_err priorities_add(struct priorities *ps, const struct stream_info *info, struct problem *p);

/* Asks for all streams on ax.queue.>. */
struct priorities_reading {
    struct priorities found;
    struct pages pages; /* the rest is priorities.c's own */
    void (*done)(void *arg, const struct problem *p);
    void *arg;
};
/* r: lives until done, and r->found is what was found if its p->err is AX_OK. */
void priorities_read(struct priorities_reading *r, struct asker *a,
                     void (*done)(void *arg, const struct problem *p), void *arg);

#endif
