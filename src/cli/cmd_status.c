#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/rfc3339.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/streams/find.h"
#include "cli/streams/overview.h"

static void print_when(const char *what, int64_t ns)
{
    if (!ns)
        return;
    int64_t away_ns = clock_host_ns() - ns;
    char when[32], age[32];
    rfc3339_format(ns, when);
    if (away_ns >= 0)
        printf("%-10s %s (%s ago)\n", what, when, output_seconds(away_ns, age));
    else
        printf("%-10s %s (in %s)\n", what, when, output_seconds(-away_ns, age));
}

static void print_found(const struct found *f)
{
    printf("%-10s %s\n%-10s %s\n%-10s %s\n", "state", find_state_text(f->state), "task", f->id,
           "pool", f->pool);
    if (f->key[0])
        printf("%-10s %s\n", "key", f->key);
    if (f->group[0])
        printf("%-10s %s%s\n", "group", f->group, f->ordered ? ", ordered" : "");
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

static int print_overview(natsConnection *nc, bool json)
{
    struct overview o;
    struct problem p = {0};
    if (overview_read(nc, &o, &p))
        return say_problem(&p);
    json_t *queues = json_object();
    for (int i = 0; i < o.queues.count; i++) {
        const struct priority *q = &o.queues.list[i];
        if (json)
            json_object_set_new(queues, q->name, json_integer((json_int_t)q->messages));
        else if (q->max_msgs >= 0) {
            printf("%-10s %" PRIu64 " unfinished, room for %" PRId64 "\n", q->name, q->messages,
                   q->max_msgs);
        } else
            printf("%-10s %" PRIu64 " unfinished\n", q->name, q->messages);
    }
    if (json) {
        output_json(json_pack("{s:o,s:I,s:I,s:I,s:I,s:I}", "queued", queues, "handed",
                              (json_int_t)o.work, "later", (json_int_t)o.later, "spilled",
                              (json_int_t)o.spilled, "done", (json_int_t)o.done, "dead",
                              (json_int_t)o.dead));
        return CLI_OK;
    }
    json_decref(queues);
    printf("%-10s %" PRIu64 " handed to workers\n%-10s %" PRIu64 "\n%-10s %" PRIu64
           "\n%-10s %" PRIu64 " remembered\n%-10s %" PRIu64 "\n",
           "work", o.work, "later", o.later, "spilled", o.spilled, "done", o.done, "dead", o.dead);
    return CLI_OK;
}

static int print_task(natsConnection *nc, const char *pool, const char *text, bool json)
{
    struct found f;
    struct problem p = {0};
    if (find_key_or_id(nc, pool, text, &f, &p))
        return say_problem(&p);
    if (json)
        output_json(find_json(&f));
    else if (f.state == TASK_UNKNOWN) {
        return say(CLI_FAILED, "%s: unknown: no task of that key (pool %s) or id in AX's streams",
                   text, pool ? pool : DEFAULT_POOL);
    } else
        print_found(&f);
    return f.state == TASK_UNKNOWN ? CLI_FAILED : CLI_OK;
}

const char cmd_status_detail[] = "";

int cmd_status(struct cli *c)
{
    bool json = false;
    const char *pool = NULL;
    const struct flag flags[] = {
        {"pool", FLAG_TEXT, &pool, 0, 0, "NAME",
         "the key's pool (default: `default`; an id is looked for in all)"},
        {"json", FLAG_BOOL, &json, 0, 0, NULL, "print one line of JSON"},
    };
    int code = args_parse(c, flags, 2, 0, 1);
    if (code >= 0)
        return code;
    if (pool && !name_is_valid(pool))
        return say(CLI_USAGE, "--pool: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -", pool);
    natsConnection *nc = cli_connect(c);
    if (!nc)
        return CLI_FAILED;

    code = c->argc == 0 ? print_overview(nc, json) : print_task(nc, pool, c->argv[0], json);
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return code;
}
