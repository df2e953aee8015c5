#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>

#include "bus/connect.h"
#include "cli/find_server.h"

int say(int code, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fprintf(stderr, "ax: %s\n", line);
    return code;
}

int say_problem(const struct problem *p)
{
    return say(p->err == AX_E_INVALID ? CLI_USAGE : CLI_FAILED, "%s",
               p->text[0] ? p->text : ax_err_text(p->err));
}

natsConnection *cli_connect(struct cli *c)
{
    natsConnection *nc = NULL;
    struct problem p = {0};
    char name[32];
    if (find_server(&c->options, &p) != AX_OK) {
        say(CLI_FAILED, "%s", p.text);
        return NULL;
    }
    snprintf(name, sizeof(name), "ax %s", c->command->name);
    ax_err e = connect_open(&nc, &c->options, NULL, name, NULL, &p);
    if (e) {
        say(CLI_FAILED, "%s", p.text[0] ? p.text : ax_err_text(e));
        return NULL;
    }
    return nc;
}
