/* Options: one table for all programs (options-table in options.c): flag, environment name, kind,
 * range, default, help. A flag wins over the environment, the environment over the default. */
#ifndef AX_BASE_OPTIONS_H
#define AX_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Which programs know an option. */
enum options_for { FOR_INGRESS = 1, FOR_DISPATCH = 2, FOR_AX = 4, FOR_ALL = 7 };

struct options {
    /* connection, as the nats CLI reads them: NATS_URL, NATS_CREDS, NATS_USER, NATS_PASSWORD,
     * NATS_CA, NATS_CERT, NATS_KEY. Strings are borrowed from argv/environ; NULL: not given. */
    const char *server, *creds, *user, *password, *ca, *cert, *key;
    const char *log_level; /* --log-level, AX_LOG_LEVEL: error|warn|info|debug; default info */
    const char *http_bind; /* --http-bind, AX_HTTP_BIND: default 127.0.0.1 */
    int64_t http_port;     /* --http, AX_HTTP: 0 (default) = none, -1 = any free one */
    /* --replicas, AX_REPLICAS: 1, 3 or 5, for streams created from now; default 1 */
    int64_t replicas;
    /* --inflight, AX_INFLIGHT: submissions in the works per ingress, 16 … 1048576; 16384 */
    int64_t inflight;
    /* --filter-entries, AX_FILTER_ENTRIES: first Bloom filter of a day, 1024 … 1e8; 200000 */
    int64_t filter_entries;
    /* --lease-ttl, AX_LEASE_TTL: 1s … 60s, default 5s: how long a dispatcher leads without
     * renewing */
    int64_t lease_ttl_ms;
    /* --strict-pools, AX_STRICT_POOLS: refuse tasks of pools that nobody added */
    bool strict_pools;
};

/* Reads flags and environment. Leaves non-option arguments in argv from *first on (permuted to the
 * end unless stop_at_first is set, for `ax <command> …`). Handles --help (prints to stdout, returns
 * AX_E_CLOSED) and --version (the same). AX_E_INVALID: p names flag or variable, value and
 * range. */
ax_err options_parse(struct options *o, enum options_for who, int argc, char **argv,
                     bool stop_at_first, int *first, struct problem *p);
/* One line per option that `who` knows, as --help prints them. */
void options_print_help(enum options_for who);

#define AX_VERSION "0.1.0"

#endif
