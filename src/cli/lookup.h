/* The commands that are given one task, by its key or its id: `ax status`, `ax cancel`. */
#ifndef AX_CLI_LOOKUP_H
#define AX_CLI_LOOKUP_H

#include <stdbool.h>

#include "cli/cli.h"

struct lookup {
    const char *pool; /* NULL: not given */
    const char *text; /* key or id; NULL: not given */
    bool json;
};

/* Reads flags and words. is_optional: text need not be given. json_help: what --json prints.
 * Returns -1 to go on, else the exit code to end with. */
int lookup_parse(struct cli *c, struct lookup *l, bool is_optional, const char *json_help);
/* Says that no such task is known, or that the pool is not there; returns CLI_FAILED. nc:
 * borrowed. */
int lookup_unknown(natsConnection *nc, const struct lookup *l);

#endif
