/* `ax dead retry` and `ax dead drop`: of one dead letter, or of all. Blocking. */
#ifndef AX_CLI_DEAD_DEAD_CHANGE_H
#define AX_CLI_DEAD_DEAD_CHANGE_H

#include <nats/nats.h>
#include <stdbool.h>

struct dead_change {
    const char *pool;     /* NULL: of any (a key: of the default pool) */
    const char *priority; /* retry: into this queue; NULL: the one it came from */
    bool drop;            /* else retry */
    bool json;
};

/* text: id, or key. Prints a line, or says what is wrong. Returns the exit code: CLI_BUSY when the
 * queue is full, or still holds the attempt that died or another submission of its key; the letter
 * stays then. nc: borrowed, here and below. */
int dead_change_one(natsConnection *nc, const struct dead_change *c, const char *text);
/* All letters there are now, oldest first, and prints one line of sums. A queue that is full is
 * offered nothing more. CLI_BUSY: letters stay for that, CLI_FAILED: for another reason. */
int dead_change_all(natsConnection *nc, const struct dead_change *c);

#endif
