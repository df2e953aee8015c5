#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text/safe_text.h"
#include "bus/connect.h"
#include "cli/failure.h"
#include "cli/find_server.h"

#define LINE_MAX_BYTES 1024

/* A message may hold text that somebody else sent. A terminal must not obey it; a log gets it as it
 * is. */
static void put_line(const char *line)
{
    char safe[SAFE_TEXT_GROWTH * LINE_MAX_BYTES];
    if (isatty(STDERR_FILENO)) {
        safe_text(line, strlen(line), SAFE_TEXT_MESSAGE, safe, sizeof(safe));
        line = safe;
    }
    log_flush();
    fprintf(stderr, "ax: %s\n", line);
}

int say(int code, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    put_line(line);
    if (code != CLI_OK)
        failure_note(line);
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
