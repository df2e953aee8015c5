/* Brings a dead task back into its queue. Blocking. */
#ifndef AX_CLI_DEAD_DEAD_RETRY_H
#define AX_CLI_DEAD_DEAD_RETRY_H

#include <nats/nats.h>

#include "bus/provision/provision.h"
#include "cli/streams/stored.h"

/* Publishes the task of this dead letter to its queue as attempt 1, unless the letter has brought
 * it back before, and then deletes the letter. priority: the queue; NULL: the one that it came
 * from. Prints a line, or says what is wrong. Returns the exit code: CLI_BUSY when the queue is
 * full, or when the queue still holds the attempt that died or another submission of its key; the
 * letter stays then. nc, ps, letter: borrowed. */
int dead_retry(natsConnection *nc, const struct priorities *ps, const char *priority,
               const struct stored *letter);

#endif
