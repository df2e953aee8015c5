/* `ax dead`: lists dead letters, shows one, brings back or drops them. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "bus/provision/provision.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/dead/dead_letter.h"
#include "cli/dead/dead_retry.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "task/names.h"

const char cmd_dead_detail[] = "retry puts the task back into its queue as attempt 1 and then "
                               "deletes the dead letter; when the queue is full\n"
                               "the dead letter stays where it is (exit code 75). drop deletes it "
                               "for good. ID is the task's id, or its key in\n"
                               "--pool.";

struct dead {
    const char *pool, *priority;
    bool all, json;
    int64_t limit;
    const struct verb *verb;
    const char *text; /* the word after the verb; NULL: none */
    struct priorities priorities;
};

/* ---- ls */

static int list_json(natsConnection *nc, const struct stored *letter, void *arg)
{
    (void)nc;
    json_t *o = dead_letter_json(letter, false);
    if (o != NULL) /* a subject that names no task was put there by hand */
        json_array_append_new(arg, o);
    return CLI_OK;
}

static int list_row(natsConnection *nc, const struct stored *letter, void *arg)
{
    static const char *const fields[] = {"task", "pool", "priority", "attempt",
                                         "died", "key",  "reason"};
    (void)nc;
    json_t *o = dead_letter_json(letter, false);
    if (o == NULL)
        return CLI_OK;
    ax_err err = table_row_of(arg, o, fields);
    json_decref(o);
    return err != AX_OK ? say(CLI_FAILED, "%s", ax_err_text(err)) : CLI_OK;
}

static int list(natsConnection *nc, struct dead *d)
{
    const char *pool = d->text != NULL ? d->text : d->pool;
    if (d->json) {
        json_t *all = json_array();
        int code = dead_letter_each(nc, pool, d->limit, list_json, all);
        output_json(all);
        return code;
    }
    struct table t = {.columns = 7};
    table_row(&t, (const char *[]){"task", "pool", "priority", "attempt", "died", "key", "reason"});
    int code = dead_letter_each(nc, pool, d->limit, list_row, &t);
    table_print(&t);
    return code;
}

/* ---- show */

static void print_letter(json_t *o, natsMsg *msg)
{
    static const char *const fields[] = {"task",    "pool", "priority", "key",
                                         "attempt", "died", "reason",   "bytes"};
    const char *name;
    json_t *value;
    output_fields(o, fields, sizeof(fields) / sizeof(fields[0]));
    json_object_foreach(json_object_get(o, "headers"), name, value)
        output_print("%-10s %s: %s\n", "header", name, json_string_value(value));
    output_body(msg);
    json_decref(o);
}

static int show(natsConnection *nc, struct dead *d)
{
    struct problem p = {0};
    struct stored s;
    if (dead_letter_find(nc, d->pool, d->text, &s, &p) != AX_OK)
        return say(CLI_FAILED, "%s", p.text);
    json_t *o = dead_letter_json(&s, true);
    int code = CLI_OK;
    if (o == NULL)
        code = say(CLI_FAILED, "%s names no task", s.subject);
    else if (d->json)
        output_json(o);
    else
        print_letter(o, s.msg);
    stored_clear(&s);
    return code;
}

/* ---- retry, drop */

static int retry_one(natsConnection *nc, const struct stored *letter, void *arg)
{
    const struct dead *d = arg;
    return dead_retry(nc, &d->priorities, d->priority, letter);
}

static int drop_one(natsConnection *nc, const struct stored *letter, void *arg)
{
    (void)arg;
    struct problem p = {0};
    if (dead_letter_delete(nc, letter, &p) != AX_OK)
        return say_problem(&p);
    output_print("%s dropped\n", strrchr(letter->subject, '.') + 1);
    return CLI_OK;
}

static int change(natsConnection *nc, struct dead *d, dead_letter_visit visit)
{
    struct problem p = {0};
    struct stored s;
    if (provision_priorities(nc, &d->priorities, &p) != AX_OK)
        return say_problem(&p);
    if (d->all)
        return dead_letter_each(nc, d->pool, INT64_MAX, visit, d);
    if (dead_letter_find(nc, d->pool, d->text, &s, &p) != AX_OK)
        return say(CLI_FAILED, "%s", p.text);
    int code = visit(nc, &s, d);
    stored_clear(&s);
    return code;
}

static int retry(natsConnection *nc, struct dead *d)
{
    return change(nc, d, retry_one);
}

static int drop(natsConnection *nc, struct dead *d)
{
    return change(nc, d, drop_one);
}

/* ---- the command */

enum takes { TAKES_POOL, TAKES_ID, TAKES_ID_OR_ALL };
static const struct verb {
    const char *name;
    enum takes takes;
    int (*run)(natsConnection *nc, struct dead *d);
} verbs[] = {
    {"ls", TAKES_POOL, list},
    {"show", TAKES_ID, show},
    {"retry", TAKES_ID_OR_ALL, retry},
    {"drop", TAKES_ID_OR_ALL, drop},
};

static bool is_complete(const struct dead *d)
{
    switch (d->verb->takes) {
    case TAKES_POOL:
        return true;
    case TAKES_ID:
        return d->text != NULL;
    case TAKES_ID_OR_ALL:
        return (d->text != NULL) != d->all;
    }
    return false;
}

static int run(natsConnection *nc, void *arg)
{
    struct dead *d = arg;
    return d->verb->run(nc, d);
}

int cmd_dead(struct cli *c)
{
    struct dead d = {.limit = 100};
    const struct flag flags[] = {
        {"pool", FLAG_TEXT, &d.pool, 0, 0, "NAME", "only this pool's (and the pool of a key)"},
        {"limit", FLAG_INT, &d.limit, 1, 1000000, "N",
         "ls: at most so many (default 100), oldest first"},
        {"all", FLAG_BOOL, &d.all, 0, 0, NULL, "retry, drop: all there are"},
        {"priority", FLAG_TEXT, &d.priority, 0, 0, "NAME",
         "retry: into this queue (default: the one it came from)"},
        {"json", FLAG_BOOL, &d.json, 0, 0, NULL, "ls, show: print one line of JSON"},
    };
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 1, 2);
    if (code >= 0)
        return code;
    d.verb = verb_find(c->argv[0], verbs, sizeof(verbs) / sizeof(verbs[0]), sizeof(verbs[0]));
    d.text = c->argc == 2 ? c->argv[1] : NULL;
    if (d.verb == NULL || !is_complete(&d))
        return say(CLI_USAGE, "usage: ax dead %s", c->command->args);
    if (!session_check_name("pool",
                            d.verb->takes == TAKES_POOL && d.text != NULL ? d.text : d.pool) ||
        !session_check_name("--priority", d.priority))
        return CLI_USAGE;
    return session_run(c, run, &d);
}
