/* The rules for a submission's fields (docs/design.md), shared by the headers form and the protobuf
 * form. Each takes the field's name as the producer knows it ("Ax-Delay" or "delay") for the error
 * text. Inside core/task*.c only. */
#ifndef AX_TASK_TASK_RULES_H
#define AX_TASK_TASK_RULES_H

#include <stddef.h>

#include "base/error.h"
#include "task/task.h"

#define TASK_CRON_MAX_CHARS 256
#define TASK_ZONE_MAX_CHARS 64
/* A firing's key is that of its schedule, "@" and a time. */
#define TASK_CRON_KEY_MAX_BYTES (KEY_MAX_BYTES - 32)
#define TASK_HEADER_NAME_MAX 256

/* A value for an error text: in quotes, cut, ASCII only, so that it cannot spoil the JSON of the
 * answer. */
#define TASK_QUOTE_MAX 72
const char *task_quote(const char *value, char buf[TASK_QUOTE_MAX]);

ax_err task_rule_key(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_max_retry(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_backoff(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_delay(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_at(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_cron(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_time_zone(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_overlap(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_timeout(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_group(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_ordered(struct task *t, const char *field, const char *value, struct problem *p);
ax_err task_rule_expires(struct task *t, const char *field, const char *value, struct problem *p);

/* Adds a pass-through header after checking it; Nats-* and Ax-* are the caller's business. kind:
 * "header" or "headers entry". The body must be set already. */
ax_err task_rule_pass(struct task *t, const char *kind, const char *name, const char *value,
                      struct problem *p);

/* What only shows when all fields are known. Names in the order of the struct. */
struct task_field_names {
    const char *delay, *at, *cron, *time_zone, *overlap, *expires, *key, *group, *ordered;
};
ax_err task_rule_together(const struct task *t, const struct task_field_names *names,
                          struct problem *p);

/* A header name that the wire can carry: printable ASCII without space and colon. */
bool task_header_name_ok(const char *name);
/* True for a header that, on a message without body, clients take for a word of the server and not
 * for a task. */
bool task_header_is_status(const char *name);
bool task_header_is_ax(const char *name);   /* Ax-*, any case of letters */
bool task_header_is_nats(const char *name); /* Nats-*, any case of letters */
/* Refuses an Ax-* header that is not one of allowed[count]: names the nearest, or all. */
ax_err task_unknown_header(const char *name, const char *const *allowed, size_t count,
                           struct problem *p);

/* Appends to the pass-through array. AX_E_NOMEM. */
ax_err task_add_header(struct task *t, const char *name, const char *value);
/* Gives the task its id: from pool and key, or a fresh one. */
void task_give_id(struct task *t);
/* A task with nothing given. */
void task_init(struct task *t);

#endif
