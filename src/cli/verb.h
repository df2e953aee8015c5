/* The verbs of a command, as `ls` in `ax pool ls`. */
#ifndef AX_CLI_VERB_H
#define AX_CLI_VERB_H

#include <stddef.h>

#include "cli/cli.h"

/* The row of this verb in a command's table; NULL: none. The first member of a row, row_bytes long,
 * is the verb's name, a const char *. */
const void *verb_find(const char *name, const void *rows, size_t count, size_t row_bytes);

/* Says that there is no such verb, which one may be meant and which there are; returns CLI_USAGE. c
 * names the command; the rest: as of verb_find. */
int verb_unknown(const struct cli *c, const char *name, const void *rows, size_t count,
                 size_t row_bytes);

#endif
