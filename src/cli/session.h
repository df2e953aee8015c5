/* A command's connection, from its opening to its end. */
#ifndef AX_CLI_SESSION_H
#define AX_CLI_SESSION_H

#include <nats/nats.h>

#include "cli/cli.h"

/* Connects and calls work with the connection, which it borrows, and arg; closes the connection.
 * Returns work's exit code, or CLI_FAILED after saying why there is no connection. */
int session_run(struct cli *c, int (*work)(natsConnection *nc, void *arg), void *arg);

/* True: name is that of a pool or a priority, or NULL. Otherwise says what is allowed; what:
 * "--pool". */
bool session_check_name(const char *what, const char *name);

#endif
