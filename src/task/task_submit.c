#include "task/task_submit.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text/nearest.h"
#include "base/text/quote.h"
#include "task/header.h"
#include "task/header_table.h"
#include "task/task_headers.h"
#include "task/task_rule.h"

struct submission {
    struct task *task;
    const char *msg_id;
    struct problem *p;
};

static ax_err refuse_schema(const char *field, const char *value, struct problem *p)
{
    char quoted[QUOTE_MAX];
    return problem_set(p, AX_E_INVALID,
                       "%s: %s is not allowed; it must be ax.v1.Task, ax.v1.TaskBatch, or left out",
                       field, quote_text(value, quoted));
}

/* Names the nearest of AX's headers, or all that a producer can give. */
static ax_err refuse_unknown(const char *name, struct problem *p)
{
    char quoted[QUOTE_MAX];
    char list[256] = "";
    struct nearest near = {.word = name};
    size_t used = 0;
    for (int i = 0; i <= HEADER_COUNT; i++) {
        if (i < HEADER_COUNT && header_table[i].rule == NULL)
            continue;
        const char *allowed = i < HEADER_COUNT ? header_table[i].name : HDR_SCHEMA;
        nearest_offer(&near, allowed);
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used > 0 ? ", " : "",
                                 allowed);
    }
    if (near.found != NULL) {
        return problem_set(p, AX_E_INVALID, "header %s is not one of AX's; did you mean %s?",
                           quote_text(name, quoted), near.found);
    }
    return problem_set(p, AX_E_INVALID, "header %s is not one of AX's; allowed are %s",
                       quote_text(name, quoted), list);
}

static ax_err take_ax_header(struct task *t, const struct task_header_value *h, struct problem *p)
{
    const struct header_row *row = header_table_find(h->name);
    if (row != NULL && row->rule != NULL)
        return row->rule(t, h->name, h->value, p);
    return strcmp(h->name, HDR_SCHEMA) == 0 ? refuse_schema(h->name, h->value, p)
                                            : refuse_unknown(h->name, p);
}

static ax_err refuse_unreadable(const char *name, struct problem *p)
{
    char quoted[QUOTE_MAX];
    return problem_set(p, AX_E_INVALID,
                       "header %s: the value is empty, folded over several lines, or holds a NUL "
                       "byte; give it a plain "
                       "value or leave it out",
                       quote_text(name, quoted));
}

static ax_err refuse_twice(const struct task_header_value *h, struct problem *p)
{
    return problem_set(p, AX_E_INVALID, "%s: given %d times; only once is allowed", h->name, h->of);
}

static ax_err take_header(void *arg, const struct task_header_value *h)
{
    struct submission *s = arg;
    if (!h->whole)
        return refuse_unreadable(h->name, s->p);
    if (header_is_ax(h->name)) {
        ax_err err = take_ax_header(s->task, h, s->p);
        return err == AX_OK && h->of > 1 ? refuse_twice(h, s->p) : err;
    }
    if (!header_is_nats(h->name))
        return task_rule_pass(s->task, "header", h->name, h->value, s->p);
    if (strcmp(h->name, HDR_MSG_ID) == 0) {
        s->msg_id = h->value;
        return h->of > 1 ? refuse_twice(h, s->p) : AX_OK;
    }
    if (strcasecmp(h->name, HDR_MSG_ID) == 0) {
        /* Dropping it like any other Nats-* header would lose the key silently. */
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

ax_err task_submit_read(struct task *t, natsMsg *msg, struct problem *p)
{
    task_init(t);
    ax_err err = name_parse_submit(natsMsg_GetSubject(msg), t->priority, t->pool, p);
    if (err != AX_OK)
        return err;
    t->body = natsMsg_GetData(msg);
    t->body_bytes = (size_t)natsMsg_GetDataLength(msg);

    struct submission s = {.task = t, .p = p};
    err = explain_unreadable(task_headers_each(msg, take_header, &s), p);
    if (err == AX_OK && s.msg_id) {
        if (t->key != NULL && strcmp(t->key, s.msg_id) != 0) {
            err = problem_set(
                p, AX_E_INVALID,
                "%s and %s are both given and differ; give one of them, or the same in both",
                HDR_MSG_ID, HDR_KEY);
        } else {
            err = task_rule_key(t, HDR_MSG_ID, s.msg_id, p);
        }
    }
    if (err == AX_OK)
        err = task_rule_together(t, false, p);
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
    if (!h->whole)
        return refuse_unreadable(h->name, p);
    if (strcmp(h->name, HDR_SCHEMA) == 0) {
        if (h->of > 1)
            return refuse_twice(h, p);
        return strcmp(h->value, "ax.v1.Task") == 0 || strcmp(h->value, "ax.v1.TaskBatch") == 0
                   ? AX_OK
                   : refuse_schema(h->name, h->value, p);
    }
    if (header_is_ax(h->name) || strcasecmp(h->name, HDR_MSG_ID) == 0) {
        char quoted[QUOTE_MAX];
        return problem_set(p, AX_E_INVALID,
                           "header %s: not allowed beside %s; in the protobuf form the message's "
                           "own fields say it",
                           quote_text(h->name, quoted), HDR_SCHEMA);
    }
    return AX_OK;
}

ax_err task_submit_check_proto(natsMsg *msg, struct problem *p)
{
    return explain_unreadable(task_headers_each(msg, check_beside_proto, p), p);
}
