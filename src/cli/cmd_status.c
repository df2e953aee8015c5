#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/rfc3339.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/lookup.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/streams/find_key.h"
#include "cli/streams/overview.h"
#include "cli/streams/server_clock.h"

/* now_ns: the server's; 0: not known, so that no age is told. */
static void print_when(const char *what, int64_t ns, int64_t now_ns)
{
    if (!ns)
        return;
    int64_t away_ns = now_ns - ns;
    char exact[32], when[48], age[32];
    output_when(rfc3339_format(ns, exact), when);
    if (now_ns == 0)
        output_print("%-10s %s\n", what, when);
    else if (away_ns >= 0)
        output_print("%-10s %s (%s ago)\n", what, when, output_seconds(away_ns, age));
    else
        output_print("%-10s %s (in %s)\n", what, when, output_seconds(-away_ns, age));
}

static void print_found(const struct found *f, int64_t now_ns)
{
    output_print("%-10s %s\n%-10s %s\n%-10s %s\n", "state", find_state_text(f->state), "task",
                 f->id, "pool", f->pool);
    if (f->key[0])
        output_print("%-10s %s\n", "key", f->key);
    if (f->group[0])
        output_print("%-10s %s%s\n", "group", f->group, f->ordered ? ", ordered" : "");
    if (f->priority[0])
        output_print("%-10s %s\n", "priority", f->priority);
    if (f->attempt && f->max_retry >= 0)
        output_print("%-10s %" PRId64 " of %" PRId64 "\n", "attempt", f->attempt, f->max_retry + 1);
    else if (f->attempt)
        output_print("%-10s %" PRId64 "\n", "attempt", f->attempt);
    if (f->fence)
        output_print("%-10s %" PRIu64 "\n", "fence", f->fence);
    print_when("submitted", f->submitted_ns, now_ns);
    print_when("since", f->since_ns, now_ns);
    print_when("next run", f->next_ns, now_ns);
    if (f->reason[0])
        output_print("%-10s %s\n", "reason", f->reason);
    output_print("%-10s %s, sequence %" PRIu64 "\n", "stored in", f->stream, f->seq);
}

static void print_queue(const struct priority *q)
{
    output_print("%-10s %" PRIu64 " unfinished", q->name, q->messages);
    if (q->max_msgs >= 0)
        output_print(", room for %" PRId64, q->max_msgs);
    output_print("\n");
}

static void print_overview(const struct overview *o)
{
    for (int i = 0; i < o->queues.count; i++)
        print_queue(&o->queues.list[i]);
    output_print("%-10s %" PRIu64 " handed to workers\n%-10s %" PRIu64 "\n%-10s %" PRIu64
                 "\n%-10s %" PRIu64 " remembered\n%-10s %" PRIu64 "\n",
                 "work", o->work, "later", o->later, "spilled", o->spilled, "done", o->done, "dead",
                 o->dead);
}

static json_t *overview_json(const struct overview *o)
{
    json_t *queues = json_object();
    for (int i = 0; i < o->queues.count; i++) {
        const struct priority *q = &o->queues.list[i];
        json_object_set_new(queues, q->name, json_integer((json_int_t)q->messages));
    }
    return json_pack("{s:o,s:I,s:I,s:I,s:I,s:I}", "queued", queues, "handed", (json_int_t)o->work,
                     "later", (json_int_t)o->later, "spilled", (json_int_t)o->spilled, "done",
                     (json_int_t)o->done, "dead", (json_int_t)o->dead);
}

static int show_overview(natsConnection *nc, const struct lookup *l)
{
    struct overview o;
    struct problem p = {0};
    if (overview_read(nc, &o, &p) != AX_OK)
        return say_problem(&p);
    if (l->json)
        output_json(overview_json(&o));
    else
        print_overview(&o);
    return CLI_OK;
}

static int64_t server_now(natsConnection *nc, const char *stream)
{
    struct clock clock;
    return server_clock_read(nc, stream, &clock, NULL) == AX_OK ? clock_ax_ns(&clock) : 0;
}

static int show_task(natsConnection *nc, const struct lookup *l)
{
    struct found f;
    struct problem p = {0};
    if (find_key_or_id(nc, l->pool, l->text, &f, &p) != AX_OK)
        return say_problem(&p);
    if (l->json)
        output_json(find_json(&f));
    else if (f.state == TASK_UNKNOWN)
        return lookup_unknown(nc, l);
    else
        print_found(&f, server_now(nc, f.stream));
    return f.state == TASK_UNKNOWN ? CLI_FAILED : CLI_OK;
}

static int show(natsConnection *nc, void *arg)
{
    const struct lookup *l = arg;
    return l->text != NULL ? show_task(nc, l) : show_overview(nc, l);
}

const char cmd_status_detail[] = "";

int cmd_status(struct cli *c)
{
    struct lookup l = {0};
    int code = lookup_parse(c, &l, true, "print one line of JSON");
    return code >= 0 ? code : session_run(c, show, &l);
}
