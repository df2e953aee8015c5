/* Tasks as the streams of AX hold them. A parser of foreign input: lenient. Pure. */
#ifndef AX_TASK_TASK_STORED_H
#define AX_TASK_TASK_STORED_H

#include "task/task.h"

/* A message stored in ax.queue/later/due/spill/work/dead. Lenient, since anyone may publish there
 * by hand: what is missing or unreadable takes its default. AX_E_INVALID only if the subject names
 * no task. Headers that AX sets anew at every stage (lease, schedule, msg id, reason) are left out
 * of the pass-through ones. */
ax_err task_stored_read(struct task *t, natsMsg *msg, struct problem *p);
/* The same for a message read through the API: subject given apart, msg carries headers and
 * body. */
ax_err task_stored_read_at(struct task *t, const char *subject, natsMsg *msg, struct problem *p);

#endif
