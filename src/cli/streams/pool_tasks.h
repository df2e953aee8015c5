/* The tasks of one pool, wherever they are: counts them, and makes dead letters of them. Blocking.
 * nc: borrowed; p says what is wrong. */
#ifndef AX_CLI_STREAMS_POOL_TASKS_H
#define AX_CLI_STREAMS_POOL_TASKS_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/provision/provision.h"

struct pool_tasks {
    int64_t queued;  /* in a queue and not handed off */
    int64_t running; /* handed off */
    int64_t later;   /* delayed, retries, schedules */
    int64_t spilled;
};

/* The errors of stored_request. */
ax_err pool_tasks_count(natsConnection *nc, const struct priorities *ps, const char *pool,
                        struct pool_tasks *out, struct problem *p);
int64_t pool_tasks_sum(const struct pool_tasks *n);

/* Makes a dead letter of every task of the pool, one after the other: the letter is stored before
 * the message goes, so a repeat after an interruption loses nothing. *buried: messages that went,
 * added. What was handed off is removed from AX_WORK last. The errors of stored_next,
 * stored_publish and stored_delete: the rest stays where it is. */
ax_err pool_tasks_bury(natsConnection *nc, const struct priorities *ps, const char *pool,
                       const char *reason, int64_t *buried, struct problem *p);

#endif
