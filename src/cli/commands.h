/* The commands of `ax`, one a file (cmd_<name>.c): a new command is that file, a row here and a
 * section in docs/cli.md. */
#ifndef AX_CLI_COMMANDS_H
#define AX_CLI_COMMANDS_H

struct cli;

/* X(name, arguments, summary). cmd_<name> returns the exit code; cmd_<name>_detail is what `ax help
 * <name>` says after the flags, "" for nothing. */
#define COMMANDS(X)                                                                             \
    X(up, "[FLAGS]", "Run everything here: a NATS server, ingress and dispatch, until stopped") \
    X(init, "[--json]", "Create the streams that are missing")                                  \
    X(submit, "[FLAGS] [BODY | -]", "Submit a task, or one per line of the input")              \
    X(work, "POOL --exec CMD [FLAGS]", "Run a command for every task of a pool")                \
    X(status, "[KEY|ID] [FLAGS]", "Say where a task is, or how many there are in every state")  \
    X(cancel, "KEY|ID [FLAGS]", "Cancel a task, wherever it is")                                \
    X(cron, "ls | show KEY | pause KEY | resume KEY | rm KEY | run-now KEY",                    \
      "Look at recurring tasks, pause, fire or remove them")                                    \
    X(pool, "ls | add NAME [k=v…] | set NAME k=v… | pause NAME | resume NAME | rm NAME",        \
      "List, add, tune, pause or remove pools")                                                 \
    X(dead, "ls [POOL] | show ID | retry ID|--all | drop ID|--all",                             \
      "Look at dead letters, bring back or drop them")                                          \
    X(access, "--team NAME:pools=… [FLAGS]",                                                    \
      "Print the accounts, users and permissions for nats-server")                              \
    X(doctor, "[--json]", "Say what is wrong and what to turn")

#define X(name, arguments, summary) \
    int cmd_##name(struct cli *c);  \
    extern const char cmd_##name##_detail[];
COMMANDS(X)
#undef X

#endif
