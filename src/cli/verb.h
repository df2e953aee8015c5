/* The verbs of a command, as `ls` in `ax pool ls`. */
#ifndef AX_CLI_VERB_H
#define AX_CLI_VERB_H

#include <stddef.h>

/* The row of this verb in a command's table; NULL: none. The first member of a row, row_bytes long,
 * is the verb's name, a const char *. */
const void *verb_find(const char *name, const void *rows, size_t count, size_t row_bytes);

#endif
