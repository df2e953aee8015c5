#include "task/task_stored.h"

#include <string.h>

#include "base/text/quote.h"
#include "task/header.h"
#include "task/header_table.h"
#include "task/task_headers.h"
#include "task/task_rule.h"

struct reading {
    struct task *task;
    enum header_stage stage;
};

static ax_err take_header(void *arg, const struct task_header_value *h)
{
    struct reading *r = arg;
    struct task *t = r->task;
    if (!h->whole)
        return AX_OK;
    if (header_is_ax(h->name)) {
        if (h->index == 0)
            header_table_read(t, r->stage, h->name, h->value);
        return AX_OK;
    }
    if (header_is_nats(h->name))
        return AX_OK;
    ax_err err = task_rule_pass(t, "header", h->name, h->value, NULL);
    return err == AX_E_NOMEM ? err : AX_OK;
}

ax_err task_stored_read_at(struct task *t, const char *subject, natsMsg *msg, struct problem *p)
{
    task_init(t);
    struct task_subject names;
    if (!name_parse_task_subject(subject, &names)) {
        char quoted[QUOTE_MAX];
        return problem_set(
            p, AX_E_INVALID,
            "subject %s names no task; it must be ax.<stage>[.<priority>].<pool>.<id>",
            quote_text(subject, quoted));
    }
    strcpy(t->priority, names.priority);
    strcpy(t->pool, names.pool);
    strcpy(t->id, names.id);
    t->body = natsMsg_GetData(msg);
    t->body_bytes = (size_t)natsMsg_GetDataLength(msg);
    struct reading r = {t, header_table_stage(subject)};
    if (task_headers_each(msg, take_header, &r) == AX_E_NOMEM) {
        task_clear(t);
        return problem_set(p, AX_E_NOMEM, "out of memory");
    }
    t->expires_in_ms = 0; /* a duration means nothing here: nobody knows its start */
    if (!*t->priority)
        strcpy(t->priority, "normal");
    return AX_OK;
}

ax_err task_stored_read(struct task *t, natsMsg *msg, struct problem *p)
{
    return task_stored_read_at(t, natsMsg_GetSubject(msg), msg, p);
}
