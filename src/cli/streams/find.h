/* Where a task is: looks through AX's streams in the order in which a task moves, so that it cannot
 * slip past. Blocking. nc: borrowed. */
#ifndef AX_CLI_STREAMS_FIND_H
#define AX_CLI_STREAMS_FIND_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/provision/priorities.h"
#include "task/names.h"

enum task_state {
    TASK_UNKNOWN,
    TASK_QUEUED,
    TASK_RUNNING,
    TASK_LATER,
    TASK_DONE,
    TASK_CANCELLED,
    TASK_DEAD
};

struct found {
    enum task_state state;
    char id[TASK_ID_CHARS + 1];
    char pool[NAME_MAX_CHARS + 1];
    char priority[NAME_MAX_CHARS + 1]; /* "": no longer known (done) */
    char key[KEY_MAX_BYTES + 1];       /* "": none, or no longer known */
    char group[GROUP_MAX_BYTES + 1];   /* "": none, or no longer known */
    bool ordered;
    char stream[64]; /* where it was found */
    uint64_t seq;
    int64_t since_ns;     /* in this state since */
    int64_t submitted_ns; /* 0: not known */
    int64_t next_ns;      /* later: not before; 0: none */
    int64_t attempt;      /* 0: not known */
    int64_t max_retry;    /* -1: the pool's default */
    uint64_t fence;       /* running, done: the attempt's fencing token */
    char reason[256];     /* dead: why */
};

const char *find_state_text(enum task_state state);

/* Looks for the task with this id in pool (NULL: in any). AX_OK with TASK_UNKNOWN: it is nowhere.
 * The errors of stored_last; p says what is wrong. */
ax_err find_task(natsConnection *nc, const char *pool, const char *id, struct found *out,
                 struct problem *p);

/* Many tasks, each looked for once only: one that moves meanwhile may be missed. A keyless one that
 * is done is not found. As find_task. */
struct find_glance {
    natsConnection *nc;
    struct priorities priorities;
    bool is_deaf; /* ingress did not answer, and is not asked again */
};
ax_err find_glance_begin(struct find_glance *g, natsConnection *nc, struct problem *p);
ax_err find_glance(struct find_glance *g, const char *pool, const char *id, struct found *out,
                   struct problem *p);

/* A new reference; what is not known is null. */
json_t *find_json(const struct found *f);

#endif
