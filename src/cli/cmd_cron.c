/* `ax cron`: recurring tasks. A schedule is a message in AX_LATER; changing one is replacing its
 * message, by compare-and-set. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/connect.h"
#include "bus/pipeline.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/streams/stored.h"
#include "cli/table.h"
#include "done/record.h"
#include "task/cron.h"
#include "task/names.h"
#include "task/task.h"
#include "task/task_stored.h"

#define ROUNDS 10
#define BATCH 1000
#define ANSWER_MS 5000

const char cmd_cron_detail[] =
    "A schedule is made by `ax submit --cron`, and named by its key (in --pool) or its id. pause "
    "keeps it from firing until resume;\n"
    "submitting it again leaves it paused. run-now fires it once, besides its times, and prints "
    "the id of that task (which is skipped\n"
    "like any other while the last one is unfinished, unless the overlap is queue). rm deletes the "
    "schedule; tasks it made stay.";

struct cron_flags {
    const char *pool;
    bool json;
};

struct listing {
    const struct cron_flags *flags;
    json_t *all;
    uint64_t next; /* sequence to go on from; 0: that was all */
};

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

/* ---- ls: AX_LATER may hold a million tasks, so it is read many at a time */

static int take_one(struct listing *l, natsMsg *msg)
{
    const char *subject = stored_header(msg, "Nats-Subject");
    uint64_t seq = (uint64_t)stored_number(msg, "Nats-Sequence", 0);
    const char *status = stored_header(msg, "Status");
    if (status && !subject) {
        return strcmp(status, "204") == 0 || strcmp(status, "404") == 0
                   ? CLI_OK
                   : say(CLI_FAILED, "%s cannot be read: status %s", STREAM_LATER, status);
    }
    if (!subject || seq == 0)
        return say(CLI_FAILED, "%s cannot be read: %s", STREAM_LATER, ax_err_text(AX_E_PROTOCOL));
    l->next = seq + 1;
    json_t *o = stored_header(msg, HDR_CRON) ? schedule_json(subject, msg, seq) : NULL;
    if (o)
        json_array_append_new(l->all, o);
    return -1;
}

static int read_batch(natsConnection *nc, natsSubscription *sub, const char *inbox,
                      const char *filter, struct listing *l)
{
    char request[320];
    snprintf(request, sizeof(request), "{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\",\"batch\":%d}",
             l->next, filter, BATCH);
    l->next = 0;
    natsStatus s = natsConnection_PublishRequestString(nc, "$JS.API.DIRECT.GET." STREAM_LATER,
                                                       inbox, request);
    while (s == NATS_OK) {
        natsMsg *msg = NULL;
        s = natsSubscription_NextMsg(&msg, sub, ANSWER_MS);
        if (s != NATS_OK)
            break;
        bool nobody = natsMsg_IsNoResponders(msg);
        int code = nobody ? CLI_FAILED : take_one(l, msg);
        natsMsg_Destroy(msg);
        if (nobody)
            return say(code, "%s: %s", STREAM_LATER, ax_err_text(AX_E_NO_RESPONDERS));
        if (code >= 0)
            return code;
    }
    return say(CLI_FAILED, "%s: %s", STREAM_LATER, ax_err_text(connect_error(s)));
}

static int read_all(natsConnection *nc, struct listing *l)
{
    char filter[SUBJECT_MAX_CHARS];
    natsInbox *inbox = NULL;
    natsSubscription *sub = NULL;
    snprintf(filter, sizeof(filter), "ax.later.*.%s.*", l->flags->pool ? l->flags->pool : "*");
    natsStatus s = natsInbox_Create(&inbox);
    if (s == NATS_OK)
        s = natsConnection_SubscribeSync(&sub, nc, inbox);
    int code = s == NATS_OK ? CLI_OK : say(CLI_FAILED, "%s", ax_err_text(connect_error(s)));
    for (l->next = 1; code == CLI_OK && l->next > 0;)
        code = read_batch(nc, sub, inbox, filter, l);
    natsSubscription_Destroy(sub);
    natsInbox_Destroy(inbox);
    return code;
}

static const char *text_of(json_t *o, const char *name)
{
    return json_string_value(json_object_get(o, name));
}

static int list(natsConnection *nc, const struct cron_flags *f)
{
    struct listing l = {.flags = f, .all = json_array()};
    int code = read_all(nc, &l);
    if (code != CLI_OK || f->json) {
        if (code == CLI_OK)
            output_json(l.all);
        else
            json_decref(l.all);
        return code;
    }
    struct table t = {.columns = 8};
    table_row(
        &t, (const char *[]){"key", "pool", "priority", "cron", "zone", "overlap", "paused", "id"});
    size_t i;
    json_t *o;
    json_array_foreach(l.all, i, o) {
        table_row(&t, (const char *[]){text_of(o, "key"), text_of(o, "pool"),
                                       text_of(o, "priority"), text_of(o, "cron"),
                                       text_of(o, "time_zone"), text_of(o, "overlap"),
                                       json_is_true(json_object_get(o, "paused")) ? "paused" : "",
                                       text_of(o, "id")});
    }
    table_print(&t);
    json_decref(l.all);
    return CLI_OK;
}

/* ---- one schedule */

/* text: a key of --pool, or an id. AX_E_NOT_FOUND: p says so. */
static ax_err find_schedule(natsConnection *nc, const struct cron_flags *f, const char *text,
                            struct stored *out, struct problem *p)
{
    const char *pool = f->pool ? f->pool : DEFAULT_POOL;
    char subject[SUBJECT_MAX_CHARS], id[TASK_ID_CHARS + 1];
    name_task_id(pool, text, strlen(text), id);
    snprintf(subject, sizeof(subject), "ax.later.*.%s.%s", pool, id);
    ax_err e = stored_last(nc, STREAM_LATER, subject, out, p);
    if (e == AX_E_NOT_FOUND && name_is_task_id(text)) {
        snprintf(subject, sizeof(subject), "ax.later.*.%s.%s", f->pool ? f->pool : "*", text);
        e = stored_last(nc, STREAM_LATER, subject, out, p);
    }
    if (!e && !stored_header(out->msg, HDR_CRON)) {
        stored_clear(out);
        e = AX_E_NOT_FOUND;
    }
    if (e == AX_E_NOT_FOUND) {
        problem_set(p, e, "%s: no recurring task of that key in pool %s, nor of that id", text,
                    pool);
    }
    return e;
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

static int show(natsConnection *nc, const struct cron_flags *f, struct stored *s)
{
    static const char *const fields[] = {"key",       "id",         "pool",     "priority",
                                         "cron",      "time_zone",  "overlap",  "paused",
                                         "submitted", "last_fired", "last_task"};
    json_t *o = schedule_json(s->subject, s->msg, s->seq);
    if (!o)
        return say(CLI_FAILED, "%s names no task", s->subject);
    add_last(nc, text_of(o, "id"), o);
    if (f->json) {
        json_object_set_new(o, "bytes", json_integer(natsMsg_GetDataLength(s->msg)));
        output_json(o);
        return CLI_OK;
    }
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        json_t *value = json_object_get(o, fields[i]);
        if (json_is_boolean(value))
            printf("%-10s %s\n", fields[i], json_is_true(value) ? "yes" : "no");
        else if (json_is_string(value))
            printf("%-10s %s\n", fields[i], json_string_value(value));
    }
    printf("\n");
    fwrite(natsMsg_GetData(s->msg), 1, (size_t)natsMsg_GetDataLength(s->msg), stdout);
    printf("\n");
    json_decref(o);
    return CLI_OK;
}

static int done(const struct cron_flags *f, const char *id, const char *what, const char *task)
{
    if (f->json) {
        output_json(json_pack("{s:s,s:s,s:o}", "id", id, "state", what, "task",
                              task ? json_string(task) : json_null()));
    } else
        printf("%s %s%s%s\n", id, what, task ? ", task " : "", task ? task : "");
    return CLI_OK;
}

/* -1: somebody else changed it meanwhile. */
static int set_paused(natsConnection *nc, const struct cron_flags *f, struct stored *s, bool paused)
{
    struct task t = {0};
    struct problem p = {0};
    natsMsg *msg = NULL;
    char expected[24];
    int err_code = 0, code = -1;
    if (task_stored_read_at(&t, s->subject, s->msg, &p))
        return say_problem(&p);
    if (cron_is_paused(s->msg) == paused) {
        task_clear(&t);
        return done(f, t.id, paused ? "paused" : "active", NULL);
    }
    snprintf(expected, sizeof(expected), "%" PRIu64, s->seq);
    ax_err e = task_to_msg(&t, s->subject, NULL, &msg);
    if (!e)
        e = cron_set_schedule(msg, &t, paused);
    if (!e && natsMsgHeader_Set(msg, HDR_EXPECT_SUBJECT_SEQ, expected) != NATS_OK)
        e = AX_E_NOMEM;
    if (e)
        code = say(CLI_FAILED, "%s: %s", t.id, ax_err_text(e));
    else if ((e = stored_publish(nc, msg, &err_code, &p)) == AX_OK)
        code = done(f, t.id, paused ? "paused" : "active", NULL);
    else if (err_code == JSERR_SCHEDULE_PATTERN || err_code == JSERR_SCHEDULE_ZONE)
        code = (cron_refused(&t, err_code == JSERR_SCHEDULE_ZONE, &p), say_problem(&p));
    else if (err_code != JSERR_WRONG_LAST_SEQ)
        code = say_problem(&p);
    natsMsg_Destroy(msg);
    task_clear(&t);
    return code;
}

static int remove_it(natsConnection *nc, const struct cron_flags *f, struct stored *s)
{
    struct problem p = {0};
    struct stored more;
    ax_err e = stored_delete(nc, STREAM_LATER, s->seq, &p);
    if (e == AX_E_NOT_FOUND)
        return -1;
    /* A second one under another priority: whoever replaced it died before removing it. */
    while (e == AX_OK && find_schedule(nc, f, strrchr(s->subject, '.') + 1, &more, &p) == AX_OK) {
        e = stored_delete(nc, STREAM_LATER, more.seq, &p);
        stored_clear(&more);
    }
    return e ? say_problem(&p) : done(f, strrchr(s->subject, '.') + 1, "removed", NULL);
}

/* The message the server would have made, but with a message id, so that an unanswered one can be
 * offered again. */
static int run_now(natsConnection *nc, const struct cron_flags *f, struct stored *s)
{
    struct task t = {0};
    struct problem p = {0};
    natsMsg *msg = NULL;
    char subject[SUBJECT_MAX_CHARS], mark[TASK_ID_CHARS + 1], task[TASK_ID_CHARS + 1];
    if (task_stored_read_at(&t, s->subject, s->msg, &p))
        return say_problem(&p);
    name_new_id(mark);
    name_subject(subject, "due", t.priority, t.pool, t.id);
    ax_err e = task_to_msg(&t, subject, NULL, &msg);
    if (!e && natsMsgHeader_Set(msg, HDR_MSG_ID, mark) != NATS_OK)
        e = AX_E_NOMEM;
    if (e)
        problem_set(&p, e, "%s: %s", t.id, ax_err_text(e));
    else
        e = stored_publish(nc, msg, NULL, &p);
    cron_firing_id_of(t.id, t.submitted, mark, task);
    int code = e ? say_problem(&p) : done(f, t.id, "fired", task);
    natsMsg_Destroy(msg);
    task_clear(&t);
    return code;
}

static int change(natsConnection *nc, const struct cron_flags *f, const char *what,
                  const char *text)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct problem p = {0};
        struct stored s;
        ax_err e = find_schedule(nc, f, text, &s, &p);
        if (e)
            return say(CLI_FAILED, "%s", p.text);
        int code = strcmp(what, "show") == 0     ? show(nc, f, &s)
                   : strcmp(what, "pause") == 0  ? set_paused(nc, f, &s, true)
                   : strcmp(what, "resume") == 0 ? set_paused(nc, f, &s, false)
                   : strcmp(what, "rm") == 0     ? remove_it(nc, f, &s)
                                                 : run_now(nc, f, &s);
        stored_clear(&s);
        if (code >= 0)
            return code;
    }
    return say(CLI_BUSY, "%s: others keep changing it; try again", text);
}

int cmd_cron(struct cli *c)
{
    static const char *const verbs[] = {"show", "pause", "resume", "rm", "run-now"};
    struct cron_flags f = {0};
    const struct flag flags[] = {
        {"pool", FLAG_TEXT, &f.pool, 0, 0, "NAME",
         "the key's pool (default: `default`); ls: only this pool's"},
        {"json", FLAG_BOOL, &f.json, 0, 0, NULL, "print one line of JSON"},
    };
    int code = args_parse(c, flags, 2, 1, 2);
    if (code >= 0)
        return code;
    const char *what = c->argv[0], *text = c->argc == 2 ? c->argv[1] : NULL;
    bool is_list = strcmp(what, "ls") == 0 && !text, right = is_list;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        right = right || (text && strcmp(what, verbs[i]) == 0);
    if (!right)
        return say(CLI_USAGE, "usage: ax cron %s", c->command->args);
    if (f.pool && !name_is_valid(f.pool))
        return say(CLI_USAGE, "--pool: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -", f.pool);
    natsConnection *nc = cli_connect(c);
    if (!nc)
        return CLI_FAILED;
    code = is_list ? list(nc, &f) : change(nc, &f, what, text);
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return code;
}
