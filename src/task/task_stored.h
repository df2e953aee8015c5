/* Tasks as the streams of AX hold them. A parser of foreign input: lenient. Pure. */
#ifndef AX_TASK_TASK_STORED_H
#define AX_TASK_TASK_STORED_H

#include "task/task.h"

/* Reads a message stored in ax.queue, ax.later, ax.due, ax.spill, ax.work or ax.dead. Lenient,
 * since anyone may publish there by hand: what is missing or unreadable takes its default.
 * Headers that AX sets anew at every stage (lease, schedule, message id, reason) do not count as
 * pass-through. AX_E_INVALID: the subject names no task. AX_E_NOMEM. */
ax_err task_stored_read(struct task *t, natsMsg *msg, struct problem *p);
/* The same for a message read through the API: its subject is given apart, msg has headers and
 * body. */
ax_err task_stored_read_at(struct task *t, const char *subject, natsMsg *msg, struct problem *p);

#endif
