#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "bus/pipeline.h"
#include "bus/provision/provision.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/streams/stored.h"
#include "task/names.h"
#include "task/task.h"
#include "task/task_stored.h"

const char cmd_dead_detail[] = "retry puts the task back into its queue as attempt 1 and then "
                               "deletes the dead letter; when the queue is full\n"
                               "the dead letter stays where it is (exit code 75). drop deletes it "
                               "for good. ID is the task's id, or its key in\n"
                               "--pool.";

struct dead_flags {
    const char *pool, *priority;
    bool all, json;
    int64_t limit;
};

/* What is to be done with each dead letter of a walk; CLI_OK goes on. */
typedef int (*visit)(natsConnection *nc, const struct dead_flags *f, const struct stored *s,
                     void *arg);

static int walk(natsConnection *nc, const struct dead_flags *f, int64_t limit, visit each,
                void *arg)
{
    char filter[SUBJECT_MAX_CHARS];
    snprintf(filter, sizeof(filter), "ax.dead.%s.*", f->pool ? f->pool : "*");
    struct problem p = {0};
    struct stored s;
    ax_err e = stored_last(nc, STREAM_DEAD, filter, &s, &p);
    if (e == AX_E_NOT_FOUND)
        return CLI_OK;
    if (e)
        return say_problem(&p);
    /* Not beyond what is there now: a retried task that dies at once must not keep us here for
     * ever. */
    uint64_t last = s.seq, seq = 1;
    stored_clear(&s);
    int worst = CLI_OK;
    for (int64_t i = 0; i < limit && seq <= last; i++) {
        e = stored_next(nc, STREAM_DEAD, filter, seq, &s, &p);
        if (e == AX_E_NOT_FOUND || (!e && s.seq > last)) {
            stored_clear(&s);
            break;
        }
        if (e)
            return say_problem(&p);
        seq = s.seq + 1;
        int code = each(nc, f, &s, arg);
        worst = code ? code : worst;
        stored_clear(&s);
    }
    return worst;
}

/* text: an id in any pool (in --pool when given), or a key of --pool. */
static ax_err find_dead(natsConnection *nc, const struct dead_flags *f, const char *text,
                        struct stored *out, struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS], id[TASK_ID_CHARS + 1];
    ax_err e = AX_E_NOT_FOUND;
    if (name_is_task_id(text)) {
        snprintf(subject, sizeof(subject), "ax.dead.%s.%s", f->pool ? f->pool : "*", text);
        e = stored_last(nc, STREAM_DEAD, subject, out, p);
    }
    if (e == AX_E_NOT_FOUND) {
        const char *pool = f->pool ? f->pool : DEFAULT_POOL;
        name_task_id(pool, text, strlen(text), id);
        name_subject_dead(subject, pool, id);
        e = stored_last(nc, STREAM_DEAD, subject, out, p);
    }
    if (e == AX_E_NOT_FOUND) {
        problem_set(p, e, "%s: no dead letter of that id, nor of that key in pool %s", text,
                    f->pool ? f->pool : DEFAULT_POOL);
    }
    return e;
}

static json_t *dead_json(const struct stored *s, bool with_body)
{
    struct task t = {0};
    if (task_stored_read_at(&t, s->subject, s->msg, NULL))
        return NULL;
    const char *reason = stored_header(s->msg, HDR_REASON), *died = stored_header(s->msg, HDR_DIED);
    json_t *o = json_pack("{s:s,s:s,s:s,s:o,s:I,s:o,s:I}", "task", t.id, "pool", t.pool, "priority",
                          t.priority, "key", t.key ? output_text(t.key) : json_null(), "attempt",
                          (json_int_t)t.attempt, "reason",
                          reason ? output_text(reason) : json_null(), "seq", (json_int_t)s->seq);
    json_object_set_new(o, "died", died ? output_text(died) : output_time(s->time_ns));
    if (with_body) {
        json_t *headers = json_object();
        for (size_t i = 0; i < t.header_count; i++)
            json_object_set_new(headers, t.headers[i].name, output_text(t.headers[i].value));
        json_object_set_new(o, "headers", headers);
        json_object_set_new(o, "submitted", output_time(t.submitted));
        json_object_set_new(o, "bytes", json_integer((json_int_t)t.body_bytes));
        json_t *body = json_stringn(t.body_bytes ? t.body : "", t.body_bytes);
        json_object_set_new(o, "body", body ? body : json_null());
    }
    task_clear(&t);
    return o;
}

static int list_one(natsConnection *nc, const struct dead_flags *f, const struct stored *s,
                    void *arg)
{
    (void)nc;
    json_t *o = dead_json(s, false);
    if (!o)
        return CLI_OK; /* a subject that names no task was put there by hand */
    if (f->json) {
        json_array_append_new(arg, o);
        return CLI_OK;
    }
    char attempt[16];
    snprintf(attempt, sizeof(attempt), "%d",
             (int)json_integer_value(json_object_get(o, "attempt")));
    const char *cells[] = {
        json_string_value(json_object_get(o, "task")),
        json_string_value(json_object_get(o, "pool")),
        json_string_value(json_object_get(o, "priority")),
        attempt,
        json_string_value(json_object_get(o, "died")),
        json_string_value(json_object_get(o, "key")),
        json_string_value(json_object_get(o, "reason")),
    };
    ax_err e = table_row(arg, cells);
    json_decref(o);
    return e ? say(CLI_FAILED, "%s", ax_err_text(e)) : CLI_OK;
}

static int list(natsConnection *nc, const struct dead_flags *f)
{
    if (f->json) {
        json_t *all = json_array();
        int code = walk(nc, f, f->limit, list_one, all);
        output_json(all);
        return code;
    }
    struct table t = {.columns = 7};
    table_row(&t, (const char *[]){"task", "pool", "priority", "attempt", "died", "key", "reason"});
    int code = walk(nc, f, f->limit, list_one, &t);
    table_print(&t);
    return code;
}

static int show(natsConnection *nc, const struct dead_flags *f, const char *text)
{
    struct problem p = {0};
    struct stored s;
    if (find_dead(nc, f, text, &s, &p))
        return say(CLI_FAILED, "%s", p.text);
    json_t *o = dead_json(&s, true);
    if (!o) {
        stored_clear(&s);
        return say(CLI_FAILED, "%s names no task", s.subject);
    }
    if (f->json) {
        output_json(o);
        stored_clear(&s);
        return CLI_OK;
    }
    static const char *const fields[] = {"task",    "pool", "priority", "key",
                                         "attempt", "died", "reason",   "bytes"};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        json_t *value = json_object_get(o, fields[i]);
        if (json_is_integer(value))
            printf("%-10s %" JSON_INTEGER_FORMAT "\n", fields[i], json_integer_value(value));
        else if (json_is_string(value))
            printf("%-10s %s\n", fields[i], json_string_value(value));
    }
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(o, "headers"), name, value)
        printf("%-10s %s: %s\n", "header", name, json_string_value(value));
    printf("\n");
    fwrite(natsMsg_GetData(s.msg), 1, (size_t)natsMsg_GetDataLength(s.msg), stdout);
    printf("\n");
    json_decref(o);
    stored_clear(&s);
    return CLI_OK;
}

static ax_err remove_letter(natsConnection *nc, const struct stored *s, struct problem *p)
{
    FAULT("dead.delete.before");
    ax_err e = stored_delete(nc, STREAM_DEAD, s->seq, p);
    FAULT("dead.delete.after");
    return e == AX_E_NOT_FOUND ? AX_OK : e;
}

/* The message that brings the task back as if it came for the first time. */
static ax_err build_retry(struct task *t, const struct stored *letter, natsMsg **out)
{
    t->retried = letter->seq;
    t->attempt = 1;
    t->timeouts = 0;
    /* Its time to start has passed already; whoever asks for it again means it. */
    if (t->expires_ns && t->expires_ns < clock_host_ns())
        t->expires_ns = 0;
    char subject[SUBJECT_MAX_CHARS];
    name_subject(subject, "queue", t->priority, t->pool, t->id);
    ax_err e = task_to_msg(t, subject, NULL, out);
    if (!e && natsMsgHeader_Set(*out, HDR_EXPECT_SUBJECT_SEQ, "0") != NATS_OK) {
        natsMsg_Destroy(*out);
        e = AX_E_NOMEM;
    }
    return e;
}

/* The queue has a task of this id (rule 4 once more). Brought back from this letter, it leads on.
 * The attempt that died, whose queue message is only just being released, and another submission of
 * the key, which dispatch drops while the letter is there: deleting the letter would lose the task.
 * AX_E_BUSY: one of these; AX_E_NOT_FOUND: it has gone meanwhile. */
static ax_err look_at_queue(natsConnection *nc, const struct priority *pr, const struct task *t,
                            const struct stored *letter, struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    struct stored there = {0};
    name_subject(subject, "queue", t->priority, t->pool, t->id);
    ax_err e = stored_last(nc, pr->stream, subject, &there, p);
    if (e)
        return e;
    const char *retried = stored_header(there.msg, HDR_RETRIED);
    bool leads_on = retried && strtoull(retried, NULL, 10) == letter->seq;
    if (!leads_on &&
        stored_header(
            letter->msg,
            HDR_MSG_ID)) { /* without one it is a refused submission, and no key is dead */
        e = problem_set(
            p, AX_E_BUSY,
            "its last attempt, or another submission of its key, is just being released");
    }
    stored_clear(&there);
    return e;
}

#define PUT_TRIES 5

/* Into its queue, unless it is there. */
static ax_err put_back(natsConnection *nc, const struct priority *pr, struct task *t,
                       const struct stored *letter, int *err_code, struct problem *p)
{
    natsMsg *msg = NULL;
    ax_err e = build_retry(t, letter, &msg);
    if (e)
        return problem_set(p, e, "%s: %s", t->id, ax_err_text(e));
    for (int i = 0; i < PUT_TRIES; i++) {
        e = stored_publish(nc, msg, err_code, p);
        if (e != AX_E_SERVER || *err_code != JSERR_WRONG_LAST_SEQ)
            break;
        e = look_at_queue(nc, pr, t, letter, p);
        if (e != AX_E_NOT_FOUND)
            break;
    }
    natsMsg_Destroy(msg);
    return e;
}

static int retry_one(natsConnection *nc, const struct dead_flags *f, const struct stored *s,
                     void *arg)
{
    const struct priorities *ps = arg;
    struct task t = {0};
    struct problem p = {0};
    if (task_stored_read_at(&t, s->subject, s->msg, &p))
        return say_problem(&p);
    if (f->priority)
        snprintf(t.priority, sizeof(t.priority), "%s", f->priority);
    int at = priorities_find(ps, t.priority);
    if (at < 0) {
        int code = say(CLI_FAILED,
                       "%s: there is no queue for priority %s: name another one with --priority",
                       t.id, t.priority);
        task_clear(&t);
        return code;
    }
    int code = CLI_OK, err_code = 0;
    FAULT("dead-retry.publish.before");
    ax_err e = put_back(nc, &ps->list[at], &t, s, &err_code, &p);
    FAULT("dead-retry.publish.after");
    if (e && err_code == JSERR_STORE_FULL)
        code = say(CLI_BUSY, "%s: queue %s is full; the dead letter stays", t.id, t.priority);
    else if (e == AX_E_BUSY)
        code = say(CLI_BUSY, "%s: %s; the dead letter stays, try again in a moment", t.id, p.text);
    else if (e || (e = remove_letter(nc, s, &p)))
        code = say_problem(&p);
    else
        printf("%s queued again (%s, pool %s)\n", t.id, t.priority, t.pool);
    task_clear(&t);
    return code;
}

static int drop_one(natsConnection *nc, const struct dead_flags *f, const struct stored *s,
                    void *arg)
{
    (void)f;
    (void)arg;
    struct problem p = {0};
    if (remove_letter(nc, s, &p))
        return say_problem(&p);
    printf("%s dropped\n", strrchr(s->subject, '.') + 1);
    return CLI_OK;
}

static int change(natsConnection *nc, const struct dead_flags *f, const char *text, visit each)
{
    struct problem p = {0};
    struct priorities ps;
    if (provision_priorities(nc, &ps, &p))
        return say_problem(&p);
    if (f->all)
        return walk(nc, f, INT64_MAX, each, &ps);
    struct stored s;
    if (find_dead(nc, f, text, &s, &p))
        return say(CLI_FAILED, "%s", p.text);
    int code = each(nc, f, &s, &ps);
    stored_clear(&s);
    return code;
}

int cmd_dead(struct cli *c)
{
    struct dead_flags f = {.limit = 100};
    const struct flag flags[] = {
        {"pool", FLAG_TEXT, &f.pool, 0, 0, "NAME", "only this pool's (and the pool of a key)"},
        {"limit", FLAG_INT, &f.limit, 1, 1000000, "N",
         "ls: at most so many (default 100), oldest first"},
        {"all", FLAG_BOOL, &f.all, 0, 0, NULL, "retry, drop: all there are"},
        {"priority", FLAG_TEXT, &f.priority, 0, 0, "NAME",
         "retry: into this queue (default: the one it came from)"},
        {"json", FLAG_BOOL, &f.json, 0, 0, NULL, "ls, show: print one line of JSON"},
    };
    int code = args_parse(c, flags, 5, 1, 2);
    if (code >= 0)
        return code;
    const char *what = c->argv[0], *text = c->argc == 2 ? c->argv[1] : NULL;
    bool is_list = strcmp(what, "ls") == 0, is_show = strcmp(what, "show") == 0;
    bool is_retry = strcmp(what, "retry") == 0, is_drop = strcmp(what, "drop") == 0;
    bool right = is_list || (is_show && text) || ((is_retry || is_drop) && (text != NULL) != f.all);
    if (!right)
        return say(CLI_USAGE, "usage: ax dead %s", c->command->args);
    if (is_list && text)
        f.pool = text;
    if (f.pool && !name_is_valid(f.pool))
        return say(CLI_USAGE, "pool: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -", f.pool);
    if (f.priority && !name_is_valid(f.priority)) {
        return say(CLI_USAGE, "--priority: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -",
                   f.priority);
    }
    natsConnection *nc = cli_connect(c);
    if (!nc)
        return CLI_FAILED;
    if (is_list)
        code = list(nc, &f);
    else if (is_show)
        code = show(nc, &f, text);
    else
        code = change(nc, &f, text, is_retry ? retry_one : drop_one);
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return code;
}
