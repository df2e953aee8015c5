/* `ax dead`: lists dead letters, shows one, brings back or drops them. */
#include <inttypes.h>
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
#include "cli/streams/stored_each.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "task/names.h"

#define BATCH 256

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

struct listing {
    json_t *all;
    struct table table;
    ax_err err;
};

static void list_one(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    static const char *const fields[] = {"task", "pool", "priority", "attempt",
                                         "died", "key",  "reason"};
    struct listing *l = arg;
    struct stored letter = {.seq = seq, .time_ns = time_ns, .msg = msg};
    snprintf(letter.subject, sizeof(letter.subject), "%s", subject);
    json_t *o = dead_letter_json(&letter, false);
    if (o == NULL) /* a subject that names no task was put there by hand */
        return;
    if (l->all != NULL) {
        json_array_append_new(l->all, o);
        return;
    }
    if (table_row_of(&l->table, o, fields) != AX_OK)
        l->err = AX_E_NOMEM;
    json_decref(o);
}

/* What was cut off is said on stderr, where it harms no script that reads the list. */
static void say_cut(const struct stored_range *r)
{
    if (r->left > 0) {
        say(CLI_OK, "%" PRId64 " of %" PRIu64 " dead letters; --limit shows more", r->limit,
            (uint64_t)r->limit + r->left);
    }
}

static int list(natsConnection *nc, struct dead *d)
{
    char filter[SUBJECT_MAX_CHARS];
    struct problem p = {0};
    struct listing l = {.all = d->json ? json_array() : NULL, .table = {.columns = 7}};
    struct stored_range range = {
        .stream = STREAM_DEAD, .filter = filter, .limit = d->limit, .batch = BATCH};
    const char *pool = d->text != NULL ? d->text : d->pool;
    snprintf(filter, sizeof(filter), "ax.dead.%s.*", pool != NULL ? pool : "*");
    table_row(&l.table,
              (const char *[]){"task", "pool", "priority", "attempt", "died", "key", "reason"});
    ax_err err = stored_each(nc, &range, list_one, &l, &p);
    if (err == AX_OK && l.err != AX_OK)
        err = problem_set(&p, l.err, "%s", ax_err_text(l.err));
    if (err != AX_OK) {
        json_decref(l.all);
        table_free(&l.table);
        return say_problem(&p);
    }
    if (l.all != NULL)
        output_json(l.all);
    else
        table_print(&l.table);
    table_free(&l.table);
    say_cut(&range);
    return CLI_OK;
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
