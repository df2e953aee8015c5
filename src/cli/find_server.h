/* Which server a command of `ax` connects to. */
#ifndef AX_CLI_FIND_SERVER_H
#define AX_CLI_FIND_SERVER_H

#include "base/error.h"
#include "base/options.h"

/* Sets o->server from the store of a running `ax up`, with its token, where that is what was asked
 * for: by --store or AX_STORE; or by nothing at all, while one runs on the default store. A flag
 * wins over the environment, and within the environment NATS_URL wins over AX_STORE. Leaves o alone
 * otherwise. p says why a store that was named cannot be used (errors of store_look); AX_E_INVALID:
 * both flags were given. */
ax_err find_server(struct options *o, struct problem *p);

#endif
