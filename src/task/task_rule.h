/* The rules for the fields of a submission (docs/protocol.md), which both forms share. Each
 * takes the field's name as the producer knows it ("Ax-Delay" or "delay") for the error text.
 * Inside src/task only. */
#ifndef AX_TASK_TASK_RULE_H
#define AX_TASK_TASK_RULE_H

#include <stddef.h>

#include "base/error.h"
#include "task/header_table.h"
#include "task/task.h"

#define TASK_CRON_MAX_CHARS 256
#define TASK_ZONE_MAX_CHARS 64
/* A firing's key is that of its schedule, "@" and a time. */
#define TASK_CRON_KEY_MAX_BYTES (KEY_MAX_BYTES - 32)
#define TASK_HEADER_NAME_MAX 256

/* Checks a pass-through header and adds it. The caller has sorted out Nats-* and Ax-*. kind:
 * "header" or "headers entry". The body must be set already. */
ax_err task_rule_pass(struct task *t, const char *kind, const char *name, const char *value,
                      struct problem *p);

/* The rules between fields, once all of them are read. is_proto: p names fields of ax.v1.Task
 * rather than headers. */
ax_err task_rule_together(const struct task *t, bool is_proto, struct problem *p);

/* task_rule_key, task_rule_delay …: one a row of the table. */
#define GIVEN(id, rule, ...) header_rule task_rule_##rule;
#define OWN(...)
HEADER_TABLE(GIVEN, OWN)
#undef GIVEN
#undef OWN

#endif
