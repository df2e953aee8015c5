/* Brings a dead task back into its queue. Blocking. */
#ifndef AX_CLI_DEAD_DEAD_RETRY_H
#define AX_CLI_DEAD_DEAD_RETRY_H

#include <nats/nats.h>
#include <stdbool.h>

#include "base/clock.h"
#include "bus/provision/provision.h"
#include "cli/streams/stored.h"
#include "task/names.h"

struct dead_retry {
    const struct priorities *priorities; /* borrowed */
    const char *priority;                /* the queue; NULL: the one that the task came from */
    struct clock *clock;                 /* the server's (cli/streams/server_clock.h); borrowed */
    /* Set: this queue is full, so nothing more is offered to it. */
    bool is_full[PRIORITIES_MAX];
    /* Set by each call: the task, and where it went or would go. */
    char task[TASK_ID_CHARS + 1];
    char pool[NAME_MAX_CHARS + 1], queue[NAME_MAX_CHARS + 1];
};

enum dead_retry_outcome {
    DEAD_RETRY_QUEUED,
    DEAD_RETRY_FULL,
    DEAD_RETRY_HELD, /* the queue still holds the attempt that died, or its key's next submission */
    DEAD_RETRY_FAILED
};
/* Publishes the task of this dead letter to its queue as attempt 1, unless the letter has brought
 * it back before, and then deletes the letter. The letter stays unless DEAD_RETRY_QUEUED; p says
 * why then. nc, letter: borrowed. */
enum dead_retry_outcome dead_retry(natsConnection *nc, struct dead_retry *r,
                                   const struct stored *letter, struct problem *p);

#endif
