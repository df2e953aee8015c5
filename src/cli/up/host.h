/* The address on which `ax up` listens. */
#ifndef AX_CLI_UP_HOST_H
#define AX_CLI_UP_HOST_H

#include <stdbool.h>

#include "base/error.h"

struct host {
    char address[64]; /* an IP address, for nats-server: a name could mean another one by then */
    char in_url[260]; /* as clients on this machine reach it, with brackets where it has colons */
    bool is_loopback; /* only this machine can reach it */
};

/* given: an IP address, with or without brackets, or a name, whose first IPv4 address is taken, or
 * else its first one. is_loopback: none of its addresses is reachable from elsewhere. AX_E_INVALID:
 * it has no address, or is empty, which nats-server would take for "all addresses". */
ax_err host_resolve(const char *given, struct host *h, struct problem *p);

#endif
