/* `ax dead`: lists dead letters, shows one, brings back or drops them. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/dead/dead_change.h"
#include "cli/dead/dead_letter.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/streams/pool.h"
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

enum takes { TAKES_POOL, TAKES_ID, TAKES_ID_OR_ALL };

struct dead;
struct verb {
    const char *name;
    enum takes takes;
    int (*run)(natsConnection *nc, struct dead *d);
};

struct dead {
    const char *pool, *priority;
    bool all, json;
    int64_t limit;
    const struct verb *verb;
    const char *text; /* the word after the verb; NULL: none */
};

/* NULL: none is named. */
static const char *named_pool(const struct dead *d)
{
    return d->verb->takes == TAKES_POOL && d->text != NULL ? d->text : d->pool;
}

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
    char when[48];
    const char *died = json_string_value(json_object_get(o, "died"));
    if (died != NULL)
        json_object_set_new(o, "died", output_text(output_when(died, when)));
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
    const char *pool = named_pool(d);
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
        return say_problem(&p);
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

static int change(natsConnection *nc, const struct dead *d, bool drop)
{
    const struct dead_change c = {
        .pool = d->pool, .priority = d->priority, .drop = drop, .json = d->json};
    return d->all ? dead_change_all(nc, &c) : dead_change_one(nc, &c, d->text);
}

static int retry(natsConnection *nc, struct dead *d)
{
    return change(nc, d, false);
}

static int drop(natsConnection *nc, struct dead *d)
{
    return change(nc, d, true);
}

/* ---- the command */

static const struct verb verbs[] = {
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

/* A mistyped pool has no dead letters, as a healthy one: it is told apart. The letters of a removed
 * pool are still there. */
static ax_err check_pool(natsConnection *nc, const char *pool, struct problem *p)
{
    char filter[SUBJECT_MAX_CHARS];
    struct stored s;
    snprintf(filter, sizeof(filter), "ax.dead.%s.*", pool);
    ax_err err = stored_last(nc, STREAM_DEAD, filter, &s, p);
    stored_clear(&s);
    return err == AX_E_NOT_FOUND ? pool_check_exists(nc, pool, p) : err;
}

static int run(natsConnection *nc, void *arg)
{
    struct dead *d = arg;
    struct problem p = {0};
    const char *pool = named_pool(d);
    bool is_filter = d->all || d->verb->takes == TAKES_POOL;
    if (pool != NULL && is_filter && check_pool(nc, pool, &p) != AX_OK)
        return say(CLI_FAILED, "%s", p.text);
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
        {"json", FLAG_BOOL, &d.json, 0, 0, NULL, "print one line of JSON"},
    };
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 1, 2);
    if (code >= 0)
        return code;
    d.verb = verb_find(c->argv[0], verbs, sizeof(verbs) / sizeof(verbs[0]), sizeof(verbs[0]));
    d.text = c->argc == 2 ? c->argv[1] : NULL;
    if (d.verb == NULL) {
        return verb_unknown(c, c->argv[0], verbs, sizeof(verbs) / sizeof(verbs[0]),
                            sizeof(verbs[0]));
    }
    if (!is_complete(&d))
        return say(CLI_USAGE, "usage: ax dead %s", c->command->args);
    if (!session_check_name("pool", named_pool(&d)) ||
        !session_check_name("--priority", d.priority))
        return CLI_USAGE;
    return session_run(c, run, &d);
}
