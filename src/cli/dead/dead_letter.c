#include "cli/dead/dead_letter.h"

#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/streams/pool.h"
#include "cli/streams/pool_names.h"
#include "task/names.h"
#include "task/task.h"
#include "task/task_stored.h"

/* The sequence of the last dead letter; 0: there is none. */
static ax_err last_sequence(natsConnection *nc, const char *filter, uint64_t *out,
                            struct problem *p)
{
    struct stored s;
    *out = 0;
    ax_err err = stored_last(nc, STREAM_DEAD, filter, &s, p);
    if (err == AX_OK)
        *out = s.seq;
    stored_clear(&s);
    return err == AX_E_NOT_FOUND ? AX_OK : err;
}

int dead_letter_each(natsConnection *nc, const char *pool, dead_letter_visit visit, void *arg)
{
    char filter[SUBJECT_MAX_CHARS];
    struct problem p = {0};
    uint64_t last, seq = 1;
    int code = CLI_OK;
    snprintf(filter, sizeof(filter), "ax.dead.%s.*", pool != NULL ? pool : "*");
    /* Not beyond the last one there is now: a retried task that dies at once must not keep the
     * command here for ever. */
    if (last_sequence(nc, filter, &last, &p) != AX_OK)
        return say_problem(&p);
    while (seq <= last && code == CLI_OK) {
        struct stored s;
        ax_err err = stored_next(nc, STREAM_DEAD, filter, seq, &s, &p);
        bool is_end = err == AX_E_NOT_FOUND || (err == AX_OK && s.seq > last);
        if (err == AX_OK && !is_end) {
            seq = s.seq + 1;
            code = visit(nc, &s, arg);
        }
        stored_clear(&s);
        if (is_end)
            break;
        if (err != AX_OK)
            return say_problem(&p);
    }
    return code == DEAD_LETTER_STOP ? CLI_OK : code;
}

static ax_err find_key(natsConnection *nc, const char *pool, const char *key, struct stored *out,
                       struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS], id[TASK_ID_CHARS + 1];
    name_task_id(pool, key, strlen(key), id);
    name_subject_dead(subject, pool, id);
    return stored_last(nc, STREAM_DEAD, subject, out, p);
}

static ax_err say_unknown(natsConnection *nc, const char *pool, const char *text, struct problem *p)
{
    struct problem why = {0};
    if (pool == NULL) {
        return problem_set(p, AX_E_NOT_FOUND,
                           "%s: no dead letter of that id, nor of that key in any pool", text);
    }
    if (pool_check_exists(nc, pool, &why) == AX_E_NOT_FOUND)
        return problem_set(p, AX_E_NOT_FOUND, "%s: %.200s", text, why.text);
    return problem_set(p, AX_E_NOT_FOUND, "%s: no dead letter of that id or key in pool %s", text,
                       pool);
}

ax_err dead_letter_find(natsConnection *nc, const char *pool, const char *text, struct stored *out,
                        struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    ax_err err = AX_E_NOT_FOUND;
    if (name_is_task_id(text)) {
        snprintf(subject, sizeof(subject), "ax.dead.%s.%s", pool != NULL ? pool : "*", text);
        err = stored_last(nc, STREAM_DEAD, subject, out, p);
    }
    if (err == AX_E_NOT_FOUND && pool != NULL)
        err = find_key(nc, pool, text, out, p);
    else if (err == AX_E_NOT_FOUND)
        err = pool_names_find(nc, find_key, text, out, p);
    return err == AX_E_NOT_FOUND ? say_unknown(nc, pool, text, p) : err;
}

ax_err dead_letter_delete(natsConnection *nc, const struct stored *letter, struct problem *p)
{
    FAULT("dead.delete.before");
    ax_err err = stored_delete(nc, STREAM_DEAD, letter->seq, p);
    FAULT("dead.delete.after");
    return err == AX_E_NOT_FOUND ? AX_OK : err;
}

static void add_body(json_t *o, const struct task *t)
{
    json_t *headers = json_object();
    for (size_t i = 0; i < t->header_count; i++)
        json_object_set_new(headers, t->headers[i].name, output_text(t->headers[i].value));
    json_object_set_new(o, "headers", headers);
    json_object_set_new(o, "submitted", output_time(t->submitted));
    json_object_set_new(o, "bytes", json_integer((json_int_t)t->body_bytes));
    json_t *body = json_stringn(t->body_bytes > 0 ? t->body : "", t->body_bytes);
    json_object_set_new(o, "body", body != NULL ? body : json_null());
}

json_t *dead_letter_json(const struct stored *letter, bool with_body)
{
    struct task t = {0};
    if (task_stored_read_at(&t, letter->subject, letter->msg, NULL) != AX_OK)
        return NULL;
    const char *reason = stored_header(letter->msg, HDR_REASON);
    const char *died = stored_header(letter->msg, HDR_DIED);
    json_t *o = json_pack("{s:s,s:s,s:s,s:o,s:I,s:o,s:I}", "task", t.id, "pool", t.pool, "priority",
                          t.priority, "key", t.key != NULL ? output_text(t.key) : json_null(),
                          "attempt", (json_int_t)t.attempt, "reason",
                          reason != NULL ? output_text(reason) : json_null(), "seq",
                          (json_int_t)letter->seq);
    json_object_set_new(o, "died", died != NULL ? output_text(died) : output_time(letter->time_ns));
    if (with_body)
        add_body(o, &t);
    task_clear(&t);
    return o;
}
