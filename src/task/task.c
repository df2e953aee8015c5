#include "task/task.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/header.h"
#include "task/header_table.h"
#include "task/task_rule.h"

void task_init(struct task *t)
{
    *t = (struct task)TASK_NONE;
}

void task_clear(struct task *t)
{
    free(t->headers);
    t->headers = NULL;
    t->header_count = 0;
}

void task_drop_content(struct task *t)
{
    task_clear(t);
    header_table_drop_text(t);
    t->body = NULL;
    t->body_bytes = 0;
}

/* In any order: a message keeps none. */
static bool has_same_headers(const struct task *a, const struct task *b)
{
    if (a->header_count != b->header_count)
        return false;
    for (size_t i = 0; i < a->header_count; i++) {
        bool found = false;
        for (size_t j = 0; !found && j < b->header_count; j++) {
            found = strcmp(a->headers[i].name, b->headers[j].name) == 0 &&
                    strcmp(a->headers[i].value, b->headers[j].value) == 0;
        }
        if (!found)
            return false;
    }
    return true;
}

bool task_is_same(const struct task *a, const struct task *b)
{
    return strcmp(a->priority, b->priority) == 0 && header_table_is_same(a, b) &&
           a->body_bytes == b->body_bytes &&
           (a->body_bytes == 0 || memcmp(a->body, b->body, a->body_bytes) == 0) &&
           has_same_headers(a, b);
}

static size_t own_headers_bytes(const struct task *t)
{
    size_t bytes = header_table_text_bytes(t);
    for (size_t i = 0; i < t->header_count; i++)
        bytes += header_line_bytes(t->headers[i].name, t->headers[i].value);
    return bytes;
}

bool task_headers_fit(const struct task *t)
{
    return own_headers_bytes(t) <= TASK_HEADERS_MAX_BYTES - TASK_RESERVE_BYTES;
}

ax_err task_check_size(const struct task *t, int64_t max_payload_bytes, struct problem *p)
{
    size_t headers = own_headers_bytes(t);
    int64_t fits = max_payload_bytes - TASK_RESERVE_BYTES;
    if (!task_headers_fit(t)) {
        return problem_set(p, AX_E_TOO_LONG,
                           "headers: key and headers of %zu bytes are not allowed; together they "
                           "must be at most %d (JetStream's %d, less %d for AX's own headers)",
                           headers, TASK_HEADERS_MAX_BYTES - TASK_RESERVE_BYTES,
                           TASK_HEADERS_MAX_BYTES, TASK_RESERVE_BYTES);
    }
    if (t->body_bytes <= INT_MAX && (int64_t)(t->body_bytes + headers) <= fits)
        return AX_OK;
    return problem_set(p, AX_E_TOO_LONG,
                       "size: a body of %zu bytes with key and headers of %zu is not allowed; "
                       "together they must be "
                       "at most %" PRId64 " (the server's max_payload of %" PRId64
                       ", less %d for AX's own headers)",
                       t->body_bytes, headers, fits > 0 ? fits : 0, max_payload_bytes,
                       TASK_RESERVE_BYTES);
}

static natsStatus set_headers(const struct task *t, const char *subject, natsMsg *msg)
{
    natsStatus s = header_table_write(t, header_table_stage(subject), msg);
    for (size_t i = 0; s == NATS_OK && i < t->header_count; i++)
        s = natsMsgHeader_Add(msg, t->headers[i].name, t->headers[i].value);
    return s;
}

ax_err task_to_msg(const struct task *t, const char *subject, const char *reply, natsMsg **out)
{
    *out = NULL;
    if (t->body_bytes > INT_MAX)
        return AX_E_TOO_LONG;
    natsMsg *msg = NULL;
    natsStatus s = natsMsg_Create(&msg, subject, reply, t->body_bytes ? t->body : NULL,
                                  (int)t->body_bytes);
    if (s == NATS_OK)
        s = set_headers(t, subject, msg);
    if (s != NATS_OK) {
        natsMsg_Destroy(msg);
        return s == NATS_NO_MEMORY ? AX_E_NOMEM : AX_E_INVALID;
    }
    *out = msg;
    return AX_OK;
}

void task_give_id(struct task *t)
{
    if (t->key != NULL) {
        name_task_id(t->pool, t->key, strlen(t->key), t->id);
    } else {
        name_new_id(t->id);
    }
}
