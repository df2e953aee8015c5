/* `ax`: the command line. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text/nearest.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/output.h"

static const struct command commands[] = {
#define X(name, arguments, summary) {#name, arguments, summary, cmd_##name, cmd_##name##_detail},
    COMMANDS(X)
#undef X
};
#define COMMAND_COUNT (int)(sizeof(commands) / sizeof(commands[0]))

static void print_overview(void)
{
    output_print("ax: tasks on NATS JetStream\n\nusage: ax [FLAGS] COMMAND …\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        output_print("  %-8s %s\n", commands[i].name, commands[i].summary);
    output_print("  %-8s %s\n", "help", "Say more about a command: ax help COMMAND");
    output_print("\nFlags (before the command, those of the connection also after it):\n");
    options_print_help(FOR_AX);
    output_print("\nExit codes: 0 done, 1 failed, 2 wrong usage, 75 busy (try again later).\n");
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int refuse_command(const char *name)
{
    struct nearest near = {.word = name};
    char hint[64];
    for (int i = 0; i < COMMAND_COUNT; i++)
        nearest_offer(&near, commands[i].name);
    nearest_offer(&near, "help");
    return say(CLI_USAGE, "%s: no such command%s; see `ax help`", name,
               nearest_text(&near, "ax ", hint, sizeof(hint)));
}

static int run(int argc, char **argv)
{
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
        return refuse_command(name);

    c.argc = argc - first;
    c.argv = argv + first;
    int code = c.command->run(&c);
    if (c.json && code != CLI_OK)
        failure_print(code);
    return code;
}

int main(int argc, char **argv)
{
    log_reserve_streams();
    signal(SIGPIPE, SIG_IGN);
    /* For wcwidth: output has the same columns whatever the environment names. */
    setlocale(LC_CTYPE, "C.UTF-8");
    return output_end(run(argc, argv));
}
