/* What every command of `ax` shares: its flags, exit codes, the connection, and what it tells the
 * caller. */
#ifndef AX_CLI_CLI_H
#define AX_CLI_CLI_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/flag.h"
#include "base/options.h"

/* Exit codes: 75 is EX_TEMPFAIL, so that a script can tell "come back" from "wrong". */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_BUSY = 75 };

struct cli;

struct command {
    const char *name;
    const char *args; /* as in "[FLAGS] POOL --exec CMD" */
    const char *summary;
    int (*run)(struct cli *c);
    const char *detail; /* paragraphs after the flags in `ax help <name>`; may be "" */
};
struct cli {
    struct options options;
    const struct command *command;
    bool help; /* args_parse only prints the command's help */
    bool json; /* set by args_parse: --json is given */
    int argc;  /* what follows the command's name; after args_parse the positional ones only */
    char **argv;
};

/* "ax: …" on stderr; returns the code, so that `return say(CLI_FAILED, …)` reads well. When stderr
 * is a terminal, the line is safe text (base/text/safe_text.h). */
int say(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what a function of the core complained about. */
int say_problem(const struct problem *p);

/* Connects, or says why not and returns NULL. */
natsConnection *cli_connect(struct cli *c);

#endif
