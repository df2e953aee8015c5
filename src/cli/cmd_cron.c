/* `ax cron`: recurring tasks. A schedule is a message in AX_LATER; to change it is to replace its
 * message, by compare-and-set. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/jserr.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/streams/pool_names.h"
#include "cli/streams/schedule_names.h"
#include "cli/streams/stored.h"
#include "cli/streams/stored_each.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "done/record.h"
#include "task/cron.h"
#include "task/names.h"
#include "task/task.h"
#include "task/task_stored.h"

#define ROUNDS 10
/* AX_LATER may hold a million tasks. For each batch the server counts what comes after it; with a
 * filter it does so task by task, which takes a quarter of a second a batch. */
#define BATCH 20000
#define ALL_SUBJECTS ">"

const char cmd_cron_detail[] =
    "A schedule is made by `ax submit --cron`, and named by its key (in --pool) or its id. pause "
    "keeps it from firing until resume;\n"
    "submitting it again leaves it paused. run-now fires it once, besides its times, and prints "
    "the id of that task (which is skipped\n"
    "like any other while the last one is unfinished, unless the overlap is queue). rm deletes the "
    "schedule; tasks it made stay.";

struct cron {
    const char *pool;
    bool json;
    const struct verb *verb;
    const char *text; /* key or id; NULL: not given */
};

/* NULL: it is no schedule. */
static json_t *schedule_json(const char *subject, natsMsg *msg, uint64_t seq)
{
    struct task t = {0};
    if (task_stored_read_at(&t, subject, msg, NULL) || !t.cron) {
        task_clear(&t);
        return NULL;
    }
    json_t *o = json_pack("{s:s,s:o,s:s,s:s,s:s,s:o,s:s,s:b,s:I}", "id", t.id, "key",
                          t.key ? output_text(t.key) : json_null(), "pool", t.pool, "priority",
                          t.priority, "cron", t.cron, "time_zone",
                          t.time_zone ? json_string(t.time_zone) : json_null(), "overlap",
                          t.overlap == TASK_OVERLAP_QUEUE ? "queue" : "skip", "paused",
                          (int)cron_is_paused(msg), "seq", (json_int_t)seq);
    json_object_set_new(o, "submitted", output_time(t.submitted));
    task_clear(&t);
    return o;
}

/* ---- ls */

struct listing {
    json_t *all;
    const char *pool; /* NULL: all */
};

static void list_one(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    struct listing *l = arg;
    struct task_subject s;
    (void)time_ns;
    if (stored_header(msg, HDR_CRON) == NULL || !name_parse_task_subject(subject, &s) ||
        strcmp(s.stage, "later") != 0 || (l->pool != NULL && strcmp(l->pool, s.pool) != 0))
        return;
    json_t *o = schedule_json(subject, msg, seq);
    if (o != NULL)
        json_array_append_new(l->all, o);
}

static const char *text_of(const json_t *o, const char *name)
{
    return json_string_value(json_object_get(o, name));
}

/* all is released. */
static void print_list(json_t *all)
{
    struct table t = {.columns = 8};
    table_row(
        &t, (const char *[]){"key", "pool", "priority", "cron", "zone", "overlap", "paused", "id"});
    size_t i;
    json_t *o;
    json_array_foreach(all, i, o) {
        table_row(&t, (const char *[]){text_of(o, "key"), text_of(o, "pool"),
                                       text_of(o, "priority"), text_of(o, "cron"),
                                       text_of(o, "time_zone"), text_of(o, "overlap"),
                                       json_is_true(json_object_get(o, "paused")) ? "paused" : "",
                                       text_of(o, "id")});
    }
    table_print(&t);
    json_decref(all);
}

/* name: "pool.id". One that was removed meanwhile is left out. */
static ax_err list_named(natsConnection *nc, struct listing *l, const char *name, struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    struct stored s;
    snprintf(subject, sizeof(subject), "ax.later.*.%s", name);
    ax_err err = stored_last(nc, STREAM_LATER, subject, &s, p);
    if (err == AX_OK)
        list_one(l, s.subject, s.seq, s.time_ns, s.msg);
    stored_clear(&s);
    return err == AX_E_NOT_FOUND ? AX_OK : err;
}

static ax_err read_list(natsConnection *nc, struct listing *l, struct problem *p)
{
    struct stored_range range = {.stream = STREAM_LATER, .filter = ALL_SUBJECTS, .batch = BATCH};
    json_t *names = schedule_names_read(nc), *name;
    size_t i;
    if (names == NULL)
        return stored_each(nc, &range, list_one, l, p);
    ax_err err = AX_OK;
    json_array_foreach(names, i, name) {
        if (err == AX_OK)
            err = list_named(nc, l, json_string_value(name), p);
    }
    json_decref(names);
    return err;
}

static int by_seq(const void *a, const void *b)
{
    json_int_t left = json_integer_value(json_object_get(*(json_t *const *)a, "seq"));
    json_int_t right = json_integer_value(json_object_get(*(json_t *const *)b, "seq"));
    return left < right ? -1 : left > right;
}

/* In the order in which the schedules were stored; out of memory: as they come. Returns all. */
static json_t *sort(json_t *all)
{
    size_t count = json_array_size(all);
    json_t **list = calloc(count + 1, sizeof(json_t *));
    if (list == NULL)
        return all;
    for (size_t i = 0; i < count; i++)
        list[i] = json_incref(json_array_get(all, i));
    qsort(list, count, sizeof(json_t *), by_seq);
    json_array_clear(all);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(all, list[i]);
    free(list);
    return all;
}

static int list(natsConnection *nc, const struct cron *c)
{
    struct problem p = {0};
    json_t *all = json_array();
    struct listing l = {.all = all, .pool = c->pool};
    if (read_list(nc, &l, &p) != AX_OK) {
        json_decref(all);
        return say_problem(&p);
    }
    all = sort(all);
    if (c->json)
        output_json(all);
    else
        print_list(all);
    return CLI_OK;
}

/* ---- one schedule */

/* The last message on subject, if it is a schedule. */
static ax_err read_schedule(natsConnection *nc, const char *subject, struct stored *out,
                            struct problem *p)
{
    ax_err err = stored_last(nc, STREAM_LATER, subject, out, p);
    if (err != AX_OK || stored_header(out->msg, HDR_CRON) != NULL)
        return err;
    stored_clear(out);
    return AX_E_NOT_FOUND;
}

static ax_err find_by_key(natsConnection *nc, const char *pool, const char *key, struct stored *out,
                          struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS], id[TASK_ID_CHARS + 1];
    name_task_id(pool, key, strlen(key), id);
    snprintf(subject, sizeof(subject), "ax.later.*.%s.%s", pool, id);
    return read_schedule(nc, subject, out, p);
}

static ax_err find_by_id(natsConnection *nc, const char *pool, const char *id, struct stored *out,
                         struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    if (!name_is_task_id(id))
        return AX_E_NOT_FOUND;
    snprintf(subject, sizeof(subject), "ax.later.*.%s.%s", pool != NULL ? pool : "*", id);
    return read_schedule(nc, subject, out, p);
}

/* text: a key of the pool (of none: of the default pool, or of the one other pool that has it), or
 * an id. AX_E_NOT_FOUND, AX_E_INVALID: p says why. */
static ax_err find_schedule(natsConnection *nc, const struct cron *c, const char *text,
                            struct stored *out, struct problem *p)
{
    ax_err err = find_by_key(nc, c->pool != NULL ? c->pool : DEFAULT_POOL, text, out, p);
    if (err == AX_E_NOT_FOUND)
        err = find_by_id(nc, c->pool, text, out, p);
    if (err == AX_E_NOT_FOUND && c->pool == NULL)
        err = pool_names_find(nc, find_by_key, text, out, p);
    if (err == AX_E_NOT_FOUND) {
        problem_set(p, err, "%s: no recurring task of that key in %s%s, nor of that id", text,
                    c->pool != NULL ? "pool " : "any pool", c->pool != NULL ? c->pool : "");
    }
    return err;
}

static void add_last(natsConnection *nc, const char *id, json_t *o)
{
    char subject[SUBJECT_MAX_CHARS];
    struct stored s;
    struct record r;
    record_subject_fired(subject, id);
    bool known = stored_last(nc, STREAM_DONE, subject, &s, NULL) == AX_OK;
    bool fired = known &&
                 record_unpack(&r, natsMsg_GetData(s.msg), (size_t)natsMsg_GetDataLength(s.msg)) ==
                     AX_OK &&
                 r.state == RECORD_FIRED;
    json_object_set_new(o, "last_task", fired ? json_string(r.task) : json_null());
    json_object_set_new(o, "last_fired", fired ? output_time(r.finished_ns) : json_null());
    if (known)
        stored_clear(&s);
}

static int show(natsConnection *nc, const struct cron *c, struct stored *s)
{
    static const char *const fields[] = {"key",       "id",         "pool",     "priority",
                                         "cron",      "time_zone",  "overlap",  "paused",
                                         "submitted", "last_fired", "last_task"};
    json_t *o = schedule_json(s->subject, s->msg, s->seq);
    if (o == NULL)
        return say(CLI_FAILED, "%s names no task", s->subject);
    add_last(nc, text_of(o, "id"), o);
    if (c->json) {
        json_object_set_new(o, "bytes", json_integer(natsMsg_GetDataLength(s->msg)));
        output_json(o);
        return CLI_OK;
    }
    output_fields(o, fields, sizeof(fields) / sizeof(fields[0]));
    output_body(s->msg);
    json_decref(o);
    return CLI_OK;
}

static int done(const struct cron *c, const char *id, const char *what, const char *task)
{
    if (c->json) {
        output_json(json_pack("{s:s,s:s,s:o}", "id", id, "state", what, "task",
                              task ? json_string(task) : json_null()));
    } else
        output_print("%s %s%s%s\n", id, what, task ? ", task " : "", task ? task : "");
    return CLI_OK;
}

/* The message that replaces the schedule s, if s is still the last one on its subject. */
static ax_err build_replacement(const struct stored *s, const struct task *t, bool paused,
                                natsMsg **out)
{
    char expected[24];
    snprintf(expected, sizeof(expected), "%" PRIu64, s->seq);
    ax_err err = task_to_msg(t, s->subject, NULL, out);
    if (err == AX_OK)
        err = cron_set_schedule(*out, t, paused);
    if (err == AX_OK && natsMsgHeader_Set(*out, HDR_EXPECT_SUBJECT_SEQ, expected) != NATS_OK)
        err = AX_E_NOMEM;
    return err;
}

/* CHANGED_MEANWHILE: somebody else has replaced the schedule. */
#define CHANGED_MEANWHILE (-1)

static int replace(natsConnection *nc, const struct cron *c, const struct stored *s,
                   const struct task *t, bool paused)
{
    struct problem p = {0};
    natsMsg *msg = NULL;
    int err_code = 0;
    ax_err err = build_replacement(s, t, paused, &msg);
    if (err != AX_OK)
        problem_set(&p, err, "%s: %s", t->id, ax_err_text(err));
    else
        err = stored_publish(nc, msg, &err_code, &p);
    natsMsg_Destroy(msg);
    if (err_code == JSERR_WRONG_LAST_SEQ)
        return CHANGED_MEANWHILE;
    if (err_code == JSERR_SCHEDULE_PATTERN || err_code == JSERR_SCHEDULE_ZONE)
        cron_refused(t, err_code == JSERR_SCHEDULE_ZONE, &p);
    return err == AX_OK ? done(c, t->id, paused ? "paused" : "active", NULL) : say_problem(&p);
}

static int set_paused(natsConnection *nc, const struct cron *c, const struct stored *s, bool paused)
{
    struct task t = {0};
    struct problem p = {0};
    if (task_stored_read_at(&t, s->subject, s->msg, &p) != AX_OK)
        return say_problem(&p);
    int code = cron_is_paused(s->msg) == paused ? done(c, t.id, paused ? "paused" : "active", NULL)
                                                : replace(nc, c, s, &t, paused);
    task_clear(&t);
    return code;
}

static int pause_it(natsConnection *nc, const struct cron *c, struct stored *s)
{
    return set_paused(nc, c, s, true);
}

static int resume(natsConnection *nc, const struct cron *c, struct stored *s)
{
    return set_paused(nc, c, s, false);
}

static int remove_it(natsConnection *nc, const struct cron *c, struct stored *s)
{
    struct problem p = {0};
    struct stored more;
    const char *id = strrchr(s->subject, '.') + 1;
    ax_err err = stored_delete(nc, STREAM_LATER, s->seq, &p);
    if (err == AX_E_NOT_FOUND)
        return CHANGED_MEANWHILE;
    /* There may be a second one under another priority: whoever replaced the schedule died before
     * removing it. */
    while (err == AX_OK && find_by_id(nc, c->pool, id, &more, &p) == AX_OK) {
        err = stored_delete(nc, STREAM_LATER, more.seq, &p);
        stored_clear(&more);
    }
    return err != AX_OK ? say_problem(&p) : done(c, id, "removed", NULL);
}

/* Publishes the message that the server would have made, but with a message id, so that it may be
 * repeated when it is not answered. */
static int fire(natsConnection *nc, const struct cron *c, const struct task *t)
{
    struct problem p = {0};
    natsMsg *msg = NULL;
    char subject[SUBJECT_MAX_CHARS], mark[TASK_ID_CHARS + 1], task[TASK_ID_CHARS + 1];
    name_new_id(mark);
    name_subject(subject, "due", t->priority, t->pool, t->id);
    ax_err err = task_to_msg(t, subject, NULL, &msg);
    if (err == AX_OK && natsMsgHeader_Set(msg, HDR_MSG_ID, mark) != NATS_OK)
        err = AX_E_NOMEM;
    if (err != AX_OK)
        problem_set(&p, err, "%s: %s", t->id, ax_err_text(err));
    else
        err = stored_publish(nc, msg, NULL, &p);
    natsMsg_Destroy(msg);
    cron_firing_id_of(t->id, t->submitted, mark, task);
    return err != AX_OK ? say_problem(&p) : done(c, t->id, "fired", task);
}

static int run_now(natsConnection *nc, const struct cron *c, struct stored *s)
{
    struct task t = {0};
    struct problem p = {0};
    if (task_stored_read_at(&t, s->subject, s->msg, &p) != AX_OK)
        return say_problem(&p);
    int code = fire(nc, c, &t);
    task_clear(&t);
    return code;
}

/* ---- the command */

/* run returns an exit code, or CHANGED_MEANWHILE to be called again with the new schedule; NULL:
 * ls. */
static const struct verb {
    const char *name;
    int (*run)(natsConnection *nc, const struct cron *c, struct stored *s);
} verbs[] = {
    {"ls", NULL},       {"show", show},    {"pause", pause_it},
    {"resume", resume}, {"rm", remove_it}, {"run-now", run_now},
};

static int run(natsConnection *nc, void *arg)
{
    const struct cron *c = arg;
    if (c->verb->run == NULL)
        return list(nc, c);
    for (int i = 0; i < ROUNDS; i++) {
        struct problem p = {0};
        struct stored s;
        if (find_schedule(nc, c, c->text, &s, &p) != AX_OK)
            return say_problem(&p);
        int code = c->verb->run(nc, c, &s);
        stored_clear(&s);
        if (code != CHANGED_MEANWHILE)
            return code;
    }
    return say(CLI_BUSY, "%s: others keep changing it; try again", c->text);
}

int cmd_cron(struct cli *c)
{
    struct cron cron = {0};
    const struct flag flags[] = {
        {"pool", FLAG_TEXT, &cron.pool, 0, 0, "NAME",
         "the key's pool (default: all, `default` first); ls: only this pool's"},
        {"json", FLAG_BOOL, &cron.json, 0, 0, NULL, "print one line of JSON"},
    };
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 1, 2);
    if (code >= 0)
        return code;
    cron.verb = verb_find(c->argv[0], verbs, sizeof(verbs) / sizeof(verbs[0]), sizeof(verbs[0]));
    cron.text = c->argc == 2 ? c->argv[1] : NULL;
    if (cron.verb == NULL) {
        return verb_unknown(c, c->argv[0], verbs, sizeof(verbs) / sizeof(verbs[0]),
                            sizeof(verbs[0]));
    }
    if ((cron.verb->run == NULL) != (cron.text == NULL))
        return say(CLI_USAGE, "usage: ax cron %s", c->command->args);
    if (!session_check_name("--pool", cron.pool))
        return CLI_USAGE;
    return session_run(c, run, &cron);
}
