/* `ax`: the command line. One command a file; this is the table of them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/commands.h"

const struct command cli_commands[] = {
    {"up", "[FLAGS]", "Run everything here: a NATS server, ingress and dispatch, until stopped",
     cmd_up, cmd_up_detail},
    {"init", "[--json]", "Create the streams that are missing", cmd_init, NULL},
    {"submit", "[FLAGS] [BODY | -]", "Submit a task, or one per line of the input", cmd_submit,
     cmd_submit_detail},
    {"work", "POOL --exec CMD [FLAGS]", "Run a command for every task of a pool", cmd_work,
     cmd_work_detail},
    {"status", "[KEY|ID] [FLAGS]", "Say where a task is, or how many there are in every state",
     cmd_status, NULL},
    {"cancel", "KEY|ID [FLAGS]", "Cancel a task, wherever it is", cmd_cancel, cmd_cancel_detail},
    {"cron", "ls | show KEY | pause KEY | resume KEY | rm KEY | run-now KEY",
     "Look at recurring tasks, pause, fire or remove them", cmd_cron, cmd_cron_detail},
    {"pool", "ls | add NAME [k=v…] | set NAME k=v… | pause NAME | resume NAME",
     "List, add, tune or pause pools", cmd_pool, cmd_pool_detail},
    {"dead", "ls [POOL] | show ID | retry ID|--all | drop ID|--all",
     "Look at dead letters, bring back or drop them", cmd_dead, cmd_dead_detail},
    {"doctor", "[--json]", "Say what is wrong and what to turn", cmd_doctor, cmd_doctor_detail},
};
const int cli_command_count = sizeof(cli_commands) / sizeof(cli_commands[0]);

static void print_overview(void)
{
    printf("ax: tasks on NATS JetStream\n\nusage: ax [FLAGS] COMMAND …\n\n");
    for (int i = 0; i < cli_command_count; i++)
        printf("  %-8s %s\n", cli_commands[i].name, cli_commands[i].summary);
    printf("  %-8s %s\n", "help", "Say more about a command: ax help COMMAND");
    printf("\nFlags (before the command, those of the connection also after it):\n");
    options_print_help(FOR_AX);
    printf("\nExit codes: 0 done, 1 failed, 2 wrong usage, 75 busy (try again later).\n");
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < cli_command_count; i++) {
        if (strcmp(cli_commands[i].name, name) == 0)
            return &cli_commands[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_overview();
        return CLI_OK;
    }
    struct cli c = {0};
    struct problem p = {0};
    int first = argc;
    ax_err e = options_parse(&c.options, FOR_AX, argc, argv, true, &first, &p);
    if (e == AX_E_CLOSED)
        return CLI_OK;
    if (e)
        return say(CLI_USAGE, "%s", p.text);
    int level = c.options.log_level ? log_level_parse(c.options.log_level) : LOG_INFO;
    log_init("ax", level < 0 ? LOG_INFO : (enum log_level)level);
    if (first >= argc) {
        print_overview();
        return CLI_USAGE;
    }

    const char *name = argv[first++];
    if (strcmp(name, "help") == 0) {
        if (first >= argc) {
            print_overview();
            return CLI_OK;
        }
        name = argv[first++];
        c.help = true;
    }
    c.command = find_command(name);
    if (!c.command)
        return say(CLI_USAGE, "%s: no such command; see `ax help`", name);

    /* Flags of the connection before the command and after it are read together, once the command's
     * own are known. */
    c.globals = calloc((size_t)argc + 1, sizeof(*c.globals));
    if (!c.globals)
        return say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
    int before = first - (c.help ? 2 : 1);
    memcpy(c.globals, argv, (size_t)before * sizeof(*argv));
    c.global_count = before;
    c.argc = argc - first;
    c.argv = argv + first;
    int code = c.command->run(&c);
    free(c.globals);
    if (fflush(stdout) != 0)
        code = code == CLI_OK ? CLI_FAILED : code;
    return code;
}
