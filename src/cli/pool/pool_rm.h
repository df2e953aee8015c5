/* `ax pool rm`: removes a pool, its entry and its consumers. */
#ifndef AX_CLI_POOL_RM_H
#define AX_CLI_POOL_RM_H

#include <nats/nats.h>
#include <stdbool.h>

/* nc: borrowed. force: also with tasks in it, of which dead letters are made. Returns the exit
 * code, after saying what was done or why not. Every step may be repeated after an interruption. */
int pool_rm(natsConnection *nc, const char *pool, bool force);

#endif
