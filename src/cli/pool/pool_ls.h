/* `ax pool ls`: the pools, their tasks as the server counts them, and what their leaders told. */
#ifndef AX_CLI_POOL_LS_H
#define AX_CLI_POOL_LS_H

#include <nats/nats.h>
#include <stdbool.h>

/* Prints a table and warnings, or one line of JSON. Blocks. nc: borrowed. Returns the exit code. */
int pool_ls(natsConnection *nc, bool json);

#endif
