/* The headers form of a submission. */
#include <string.h>
#include <strings.h>

#include "task/task.h"
#include "task/task_headers.h"
#include "task/task_rules.h"

static const char *const submit_headers[] = {
    HDR_KEY,       HDR_DELAY,  HDR_AT,      HDR_CRON,    HDR_TIME_ZONE, HDR_BACKOFF, HDR_EXPIRES,
    HDR_MAX_RETRY, HDR_SCHEMA, HDR_OVERLAP, HDR_TIMEOUT, HDR_GROUP,     HDR_ORDERED};
#define SUBMIT_HEADER_COUNT (sizeof(submit_headers) / sizeof(*submit_headers))

struct submission {
    struct task *task;
    const char *msg_id;
    struct problem *p;
};

static ax_err refuse_schema(const char *field, const char *value, struct problem *p)
{
    char quoted[TASK_QUOTE_MAX];
    return problem_set(p, AX_E_INVALID,
                       "%s: %s is not allowed; it must be ax.v1.Task, ax.v1.TaskBatch, or left out",
                       field, task_quote(value, quoted));
}

static ax_err take_ax_header(struct task *t, const struct task_header_value *h, struct problem *p)
{
    static const struct {
        const char *name;
        ax_err (*rule)(struct task *, const char *, const char *, struct problem *);
    } rules[] = {
        {HDR_KEY, task_rule_key},         {HDR_DELAY, task_rule_delay},
        {HDR_AT, task_rule_at},           {HDR_MAX_RETRY, task_rule_max_retry},
        {HDR_CRON, task_rule_cron},       {HDR_TIME_ZONE, task_rule_time_zone},
        {HDR_EXPIRES, task_rule_expires}, {HDR_BACKOFF, task_rule_backoff},
        {HDR_OVERLAP, task_rule_overlap}, {HDR_TIMEOUT, task_rule_timeout},
        {HDR_GROUP, task_rule_group},     {HDR_ORDERED, task_rule_ordered},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        if (strcmp(h->name, rules[i].name) == 0) {
            return rules[i].rule(t, h->name, h->value, p);
        }
    }
    if (strcmp(h->name, HDR_SCHEMA) == 0) {
        return refuse_schema(h->name, h->value, p);
    }
    return task_unknown_header(h->name, submit_headers, SUBMIT_HEADER_COUNT, p);
}

static ax_err refuse_unreadable(const char *name, struct problem *p)
{
    char quoted[TASK_QUOTE_MAX];
    return problem_set(p, AX_E_INVALID,
                       "header %s: the value is empty, folded over several lines, or holds a NUL "
                       "byte; give it a plain "
                       "value or leave it out",
                       task_quote(name, quoted));
}

static ax_err refuse_twice(const struct task_header_value *h, struct problem *p)
{
    return problem_set(p, AX_E_INVALID, "%s: given %d times; only once is allowed", h->name, h->of);
}

static ax_err take_header(void *arg, const struct task_header_value *h)
{
    struct submission *s = arg;
    if (!h->whole) {
        return refuse_unreadable(h->name, s->p);
    }
    if (task_header_is_ax(h->name)) {
        ax_err err = take_ax_header(s->task, h, s->p);
        return err == AX_OK && h->of > 1 ? refuse_twice(h, s->p) : err;
    }
    if (!task_header_is_nats(h->name)) {
        return task_rule_pass(s->task, "header", h->name, h->value, s->p);
    }
    if (strcmp(h->name, HDR_MSG_ID) == 0) {
        s->msg_id = h->value;
        return h->of > 1 ? refuse_twice(h, s->p) : AX_OK;
    }
    if (strcasecmp(h->name, HDR_MSG_ID) == 0) {
        /* Dropping it like any other Nats-* header would lose the key without a word. */
        return problem_set(s->p, AX_E_INVALID,
                           "header \"%s\": upper and lower case count; write %s", h->name,
                           HDR_MSG_ID);
    }
    return AX_OK;
}

static ax_err explain_unreadable(ax_err err, struct problem *p)
{
    if (err == AX_E_PROTOCOL) {
        return problem_set(p, AX_E_INVALID,
                           "headers: cannot be read; a header without a value or a line without a "
                           "colon is the usual "
                           "cause, neither is allowed");
    }
    return err == AX_E_NOMEM ? problem_set(p, err, "out of memory") : err;
}

ax_err task_from_submit(struct task *t, natsMsg *msg, struct problem *p)
{
    task_init(t);
    ax_err err = name_parse_submit(natsMsg_GetSubject(msg), t->priority, t->pool, p);
    if (err != AX_OK) {
        return err;
    }
    t->body = natsMsg_GetData(msg);
    t->body_bytes = (size_t)natsMsg_GetDataLength(msg);

    struct submission s = {.task = t, .p = p};
    err = explain_unreadable(task_headers_each(msg, take_header, &s), p);
    if (err == AX_OK && s.msg_id) {
        if (t->key && strcmp(t->key, s.msg_id) != 0) {
            err = problem_set(
                p, AX_E_INVALID,
                "%s and %s are both given and differ; give one of them, or the same in both",
                HDR_MSG_ID, HDR_KEY);
        } else {
            err = task_rule_key(t, HDR_MSG_ID, s.msg_id, p);
        }
    }
    if (err == AX_OK) {
        static const struct task_field_names names = {HDR_DELAY,     HDR_AT,      HDR_CRON,
                                                      HDR_TIME_ZONE, HDR_OVERLAP, HDR_EXPIRES,
                                                      HDR_MSG_ID,    HDR_GROUP,   HDR_ORDERED};
        err = task_rule_together(t, &names, p);
    }
    if (err != AX_OK) {
        task_clear(t);
        return err;
    }
    task_give_id(t);
    return AX_OK;
}

static ax_err check_beside_proto(void *arg, const struct task_header_value *h)
{
    struct problem *p = arg;
    if (!h->whole) {
        return refuse_unreadable(h->name, p);
    }
    if (strcmp(h->name, HDR_SCHEMA) == 0) {
        if (h->of > 1) {
            return refuse_twice(h, p);
        }
        return strcmp(h->value, "ax.v1.Task") == 0 || strcmp(h->value, "ax.v1.TaskBatch") == 0
                   ? AX_OK
                   : refuse_schema(h->name, h->value, p);
    }
    if (task_header_is_ax(h->name) || strcasecmp(h->name, HDR_MSG_ID) == 0) {
        char quoted[TASK_QUOTE_MAX];
        return problem_set(p, AX_E_INVALID,
                           "header %s: not allowed beside %s; in the protobuf form the message's "
                           "own fields say it",
                           task_quote(h->name, quoted), HDR_SCHEMA);
    }
    return AX_OK;
}

ax_err task_check_proto_headers(natsMsg *msg, struct problem *p)
{
    return explain_unreadable(task_headers_each(msg, check_beside_proto, p), p);
}
