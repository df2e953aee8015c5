#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/find.h"
#include "cli/output.h"
#include "core/clock.h"

static void print_when(const char *what, int64_t ns)
{
    if (!ns)
        return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t away_ns = now.tv_sec * 1000000000LL + now.tv_nsec - ns;
    char when[32], age[32];
    clock_format_rfc3339(ns, when);
    if (away_ns >= 0)
        printf("%-10s %s (%s ago)\n", what, when, output_seconds(away_ns, age));
    else
        printf("%-10s %s (in %s)\n", what, when, output_seconds(-away_ns, age));
}

static void print_found(const struct found *f)
{
    printf("%-10s %s\n%-10s %s\n%-10s %s\n", "state", find_state_text(f->state), "task", f->id, "pool", f->pool);
    if (f->key[0])
        printf("%-10s %s\n", "key", f->key);
    if (f->priority[0])
        printf("%-10s %s\n", "priority", f->priority);
    if (f->attempt && f->max_retry >= 0)
        printf("%-10s %" PRId64 " of %" PRId64 "\n", "attempt", f->attempt, f->max_retry + 1);
    else if (f->attempt)
        printf("%-10s %" PRId64 "\n", "attempt", f->attempt);
    if (f->fence)
        printf("%-10s %" PRIu64 "\n", "fence", f->fence);
    print_when("submitted", f->submitted_ns);
    print_when("since", f->since_ns);
    print_when("next run", f->next_ns);
    if (f->reason[0])
        printf("%-10s %s\n", "reason", f->reason);
    printf("%-10s %s, sequence %" PRIu64 "\n", "stored in", f->stream, f->seq);
}

int cmd_status(struct cli *c)
{
    bool json = false;
    const char *pool = NULL;
    const struct flag flags[] = {
        {"pool", FLAG_TEXT, &pool, 0, 0, "NAME", "the key's pool (default: `default`; an id is looked for in all)"},
        {"json", FLAG_BOOL, &json, 0, 0, NULL, "print one line of JSON"},
    };
    int code = args_parse(c, flags, 2, 1, 1);
    if (code >= 0)
        return code;
    if (pool && !name_is_valid(pool))
        return say(CLI_USAGE, "--pool: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -", pool);
    natsConnection *nc = cli_connect(c);
    if (!nc)
        return CLI_FAILED;

    struct found f;
    struct problem p = {0};
    ax_err e = find_key_or_id(nc, pool, c->argv[0], &f, &p);
    if (e)
        code = say_problem(&p);
    else if (json)
        output_json(find_json(&f));
    else if (f.state != TASK_UNKNOWN)
        print_found(&f);
    if (!e && f.state == TASK_UNKNOWN)
        code = json ? CLI_FAILED
                    : say(CLI_FAILED, "%s: unknown: no task of that key (pool %s) or id in AX's streams", c->argv[0],
                          pool ? pool : DEFAULT_POOL);
    else if (!e)
        code = CLI_OK;
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return code;
}
