#include "cli/args.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"

#define ROWS_MAX (OPTIONS_ROWS_MAX + 32)

static void print_help(struct cli *c, const struct flag_row *rows, int count)
{
    output_print("%s\n\nusage: ax %s %s\n", c->command->summary, c->command->name,
                 c->command->args);
    if (count > 0)
        output_print("\n");
    for (int i = 0; i < count; i++)
        flag_print(&rows[i], false);
    if (c->command->detail[0] != '\0')
        output_own(c->command->detail);
    output_print("\nFlags of the connection (--server …): see `ax help`.\n");
}

/* has_failed: not all flags were read. */
static bool wants_json(const struct cli *c, const struct flag *flags, int count, bool has_failed)
{
    bool json = false;
    for (int i = 0; i < count; i++) {
        if (strcmp(flags[i].name, "json") != 0)
            continue;
        json = *(bool *)flags[i].target;
        for (int k = 0; has_failed && k < c->argc; k++)
            json = json || strcmp(c->argv[k], "--json") == 0;
    }
    return json;
}

int args_parse(struct cli *c, const struct flag *flags, int flag_count, int min, int max)
{
    struct flag_row rows[ROWS_MAX];
    struct problem p = {0};
    int count = flag_count;
    for (int i = 0; i < flag_count; i++)
        rows[i] = (struct flag_row){.flag = flags[i]};
    count += options_rows(&c->options, FOR_COMMAND, rows + count);
    rows[count++] = (struct flag_row){
        .flag = {.name = "help", .kind = FLAG_STOP, .target = &c->help}, .letter = 'h'};
    ax_err err = c->help ? AX_E_CLOSED : flag_parse(rows, count, false, &c->argc, c->argv, &p);
    c->json = wants_json(c, flags, flag_count, err != AX_OK);
    if (err == AX_E_CLOSED) {
        print_help(c, rows, flag_count);
        return CLI_OK;
    }
    if (err != AX_OK)
        return say(CLI_USAGE, "%s", p.text);
    if (c->argc < min || c->argc > max)
        return say(CLI_USAGE, "usage: ax %s %s", c->command->name, c->command->args);
    return -1;
}
