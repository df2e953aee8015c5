/* Reads the flags and words of a command. */
#ifndef AX_CLI_ARGS_H
#define AX_CLI_ARGS_H

#include "cli/cli.h"

/* Takes the flags out of c->argv and leaves the words (at least min, at most max of them), as
 * flag_parse does. Flags of the connection (--server …) may stand here as well as before the
 * command. Returns -1 to go on, else the exit code to end with: help was printed, or what is wrong
 * was said. */
int args_parse(struct cli *c, const struct flag *flags, int flag_count, int min, int max);

#endif
