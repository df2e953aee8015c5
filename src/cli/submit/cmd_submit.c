/* `ax submit`: flags, and where the body comes from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/submit/input.h"
#include "cli/submit/submit.h"
#include "cli/submit/submit_lines.h"
#include "cli/submit/submit_one.h"

#define WAIT_FOREVER_MS (365LL * 24 * 3600 * 1000)

const char cmd_submit_detail[] = "The body is BODY, the --file, or stdin. With --lines every line "
                                 "of stdin is a task: its body, or key<TAB>body;\n"
                                 "they are sent many at a time, busy answers are waited out, and "
                                 "one line of sums is printed at the end.\n"
                                 "With a key, a submission that is not answered is offered again; "
                                 "without one it could then run twice: it is not.";

static int parse(struct cli *c, struct submit_flags *f)
{
    const struct flag flags[] = {
        {"priority", FLAG_TEXT, &f->priority, 0, 0, "NAME",
         "high, normal (default), low, or one that was added"},
        {"pool", FLAG_TEXT, &f->pool, 0, 0, "NAME", "class of workers (default: default)"},
        {"key", FLAG_TEXT, &f->key, 0, 0, "KEY",
         "idempotency key, 1 to 512 bytes: the same key runs once"},
        {"file", FLAG_TEXT, &f->file, 0, 0, "FILE", "body"},
        {"group", FLAG_TEXT, &f->group, 0, 0, "NAME",
         "whose limits and turns it shares, such as the tenant"},
        {"ordered", FLAG_BOOL, &f->ordered, 0, 0, NULL,
         "--group: one at a time, in order of acceptance"},
        {"max-retry", FLAG_TEXT, &f->max_retry, 0, 0, "N", "retries after the first attempt"},
        {"backoff", FLAG_TEXT, &f->backoff, 0, 0, "DURATION", "base of the exponential backoff"},
        {"delay", FLAG_TEXT, &f->delay, 0, 0, "DURATION", "run after a while"},
        {"at", FLAG_TEXT, &f->at, 0, 0, "TIME", "not before (RFC 3339)"},
        {"expires", FLAG_TEXT, &f->expires, 0, 0, "TIME|DURATION", "do not start later than this"},
        {"timeout", FLAG_TEXT, &f->timeout, 0, 0, "DURATION",
         "the whole run of an attempt, 1s to 24h"},
        {"cron", FLAG_TEXT, &f->cron, 0, 0, "EXPR",
         "run again and again: five or six fields, @every 10m, @hourly … (needs --key)"},
        {"time-zone", FLAG_TEXT, &f->time_zone, 0, 0, "ZONE",
         "--cron: such as Europe/Zurich (default UTC)"},
        {"overlap", FLAG_TEXT, &f->overlap, 0, 0, "WHAT",
         "--cron: skip (default) or queue while the last one is unfinished"},
        {"header", FLAG_LIST, &f->headers, 0, 0, "NAME:VALUE",
         "passed through to the worker; may be repeated"},
        {"wait", FLAG_OPTIONAL_MS, &f->wait_ms, 1, WAIT_FOREVER_MS, "DURATION",
         "wait for the end: exit 0 done, 1 dead"},
        {"retry-busy", FLAG_BOOL, &f->retry_busy, 0, 0, NULL, "queue full: keep offering the task"},
        {"lines", FLAG_BOOL, &f->lines, 0, 0, NULL, "one task per line of stdin"},
        {"inflight", FLAG_INT, &f->inflight, 1, 65536, "N",
         "--lines: how many at a time (default 256)"},
        {"json", FLAG_BOOL, &f->json, 0, 0, NULL, "print one line of JSON"},
    };
    return args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 0, 1);
}

struct submission {
    struct submit_flags flags;
    const char *argument; /* NULL: none */
    const char *body;
    size_t bytes;
};

static bool is_from_stdin(const struct submission *s)
{
    return !s->flags.lines && s->flags.file == NULL &&
           (s->argument == NULL || strcmp(s->argument, "-") == 0);
}

static int check_names(const struct submit_flags *f)
{
    if (!session_check_name("--priority", f->priority) || !session_check_name("--pool", f->pool))
        return CLI_USAGE;
    if (f->key != NULL && (f->key[0] == '\0' || strlen(f->key) > KEY_MAX_BYTES)) {
        return say(CLI_USAGE, "--key: %zu bytes given, allowed are 1 to %d", strlen(f->key),
                   KEY_MAX_BYTES);
    }
    return CLI_OK;
}

static int check_combination(const struct submission *s)
{
    const struct submit_flags *f = &s->flags;
    if (f->lines && (s->argument != NULL || f->file != NULL || f->key != NULL || f->wait_ms != 0)) {
        return say(CLI_USAGE,
                   "--lines takes its tasks from stdin: no BODY, --file, --key or --wait with it");
    }
    if (f->cron != NULL && f->wait_ms != 0)
        return say(CLI_USAGE, "--wait is given with --cron, which has no end");
    if (f->file != NULL && s->argument != NULL)
        return say(CLI_USAGE, "the body is given twice: as an argument and as --file");
    if (is_from_stdin(s) && s->argument == NULL && isatty(STDIN_FILENO)) {
        return say(CLI_USAGE,
                   "no body: give it as an argument, with --file, or on stdin (- when typed)");
    }
    return CLI_OK;
}

static int run(natsConnection *nc, void *arg)
{
    const struct submission *s = arg;
    return s->flags.lines ? submit_lines(nc, &s->flags)
                          : submit_one(nc, &s->flags, s->body, s->bytes);
}

int cmd_submit(struct cli *c)
{
    struct submission s = {.flags = {.priority = "normal", .pool = DEFAULT_POOL, .inflight = 256}};
    int code = parse(c, &s.flags);
    if (code >= 0)
        return code;
    s.argument = c->argc > 0 ? c->argv[0] : NULL;
    code = check_names(&s.flags);
    if (code == CLI_OK)
        code = check_combination(&s);
    if (code != CLI_OK)
        return code;
    char *read = NULL;
    if (s.flags.file != NULL || is_from_stdin(&s)) {
        s.body = read = input_read_all(s.flags.file, &s.bytes);
        if (read == NULL)
            return CLI_FAILED;
    } else {
        s.body = s.argument != NULL ? s.argument : "";
        s.bytes = strlen(s.body);
    }
    code = session_run(c, run, &s);
    free(read);
    return code;
}
