/* How the nats-server of `ax up` is set up, and which port it has chosen. */
#ifndef AX_CLI_UP_SERVER_H
#define AX_CLI_UP_SERVER_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/store/store.h"
#include "cli/up/child.h"

#define SERVER_CONF "nats-server.conf" /* in the store */

/* Writes the configuration file into the store. token: what clients have to know; NULL: the server
 * is open. Errors as of store_file_write. */
ax_err server_write_conf(const struct store *s, const char *token, struct problem *p);
/* This process's environment, with settings of Go's garbage collector where it has none. The caller
 * frees it. NULL: errno. */
char **server_environment(void);
/* Sets the arguments. port 0: any free one, and the server writes a ports file. False: no memory.
 */
bool server_args(struct child *c, const char *store, const char *host, int port,
                 bool writes_ports_file);
/* Removes the ports files of servers that were killed: another server may get their process
 * number. */
void server_drop_ports_files(const char *store);
/* The port that the server with this process number has written into its ports file; 0: none
 * yet. */
int server_port(const char *store, pid_t pid);

#endif
