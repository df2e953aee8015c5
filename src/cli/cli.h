/* What every command of `ax` shares: the table of commands, exit codes, flags, and what is said to
 * the caller. */
#ifndef AX_CLI_CLI_H
#define AX_CLI_CLI_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"

/* Exit codes: 75 is EX_TEMPFAIL, so that a script can tell "come back" from "wrong". */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_BUSY = 75 };

struct cli;

struct command {
    const char *name;
    const char *args; /* as in "[FLAGS] POOL --exec CMD" */
    const char *summary;
    int (*run)(struct cli *c);
    const char *detail; /* paragraphs after the flags in `ax help <name>`; may be NULL */
};
extern const struct command cli_commands[];
extern const int cli_command_count;

struct cli {
    struct options options;
    const struct command *command;
    bool help; /* args_parse only prints the command's help */
    int argc;  /* what follows the command's name; after args_parse the positional ones only */
    char **argv;
    int global_count; /* flags common to all commands, in front of which argv[0] stands */
    char **globals;
};

enum flag_kind {
    FLAG_BOOL, /* bool */
    FLAG_TEXT, /* const char * */
    FLAG_INT,  /* int64_t, min … max */
    FLAG_MS,   /* int64_t milliseconds, from "1m30s"; min … max */
    /* the same, but the value is optional and comes after "=": without one *target = max */
    FLAG_OPTIONAL_MS,
    FLAG_LIST, /* struct flag_list, may be given several times */
};
#define FLAG_LIST_MAX 64
struct flag_list {
    int count;
    const char *values[FLAG_LIST_MAX];
};
struct flag {
    const char *name; /* without the dashes */
    enum flag_kind kind;
    void *target;
    int64_t min, max;
    const char *value; /* what the value is called in the help */
    const char *help;
};

/* Takes the flags out of c->argv and leaves the positional arguments (at least min, at most max of
 * them; "--" ends the flags, "-" is positional). Flags of the connection (--server …) may stand
 * here as well as before the command. Returns -1 to go on, else the exit code to end with: help was
 * printed, or what is wrong was said. */
int args_parse(struct cli *c, const struct flag *flags, int flag_count, int min, int max);

/* "ax: …" on stderr; returns the code, so that `return say(CLI_FAILED, …)` reads well. */
int say(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for what a function of the core complained about. */
int say_problem(const struct problem *p);

/* Connects, or says why not and returns NULL. */
natsConnection *cli_connect(struct cli *c);

#endif
