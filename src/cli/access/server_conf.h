/* Prints the part of nats-server's configuration that says who may do what. */
#ifndef AX_CLI_ACCESS_SERVER_CONF_H
#define AX_CLI_ACCESS_SERVER_CONF_H

#include <stdio.h>

#include "cli/access/rights.h"

/* Accounts, users, exports and imports; s->single: the users of one account. */
void server_conf_print(FILE *out, const struct setting *s);

#endif
