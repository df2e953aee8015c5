/* Recurring tasks (docs/design/time.md, "Recurring tasks"): checks an Ax-Cron, writes the
 * schedule that the server keeps, names what the schedule fires. The server calculates with
 * calendars and time zones; what it refuses is explained in the words of these checks. Pure. */
#ifndef AX_TASK_CRON_H
#define AX_TASK_CRON_H

#include <nats/nats.h>
#include <stdbool.h>

#include "base/error.h"
#include "task/names.h"
#include "task/task.h"

#define CRON_SCHEDULE_MAX 288 /* value of Nats-Schedule, NUL included */
#define CRON_KEY_MAX (KEY_MAX_BYTES + 1)

/* Checks the number of fields, the form of "@every …", the names, and that a time zone has a
 * meaning. AX_E_INVALID: p names what is wrong. */
ax_err cron_check(const struct task *t, struct problem *p);
/* p for a schedule that the server refused: its time zone (true) or its expression. */
ax_err cron_refused(const struct task *t, bool for_zone, struct problem *p);

/* Value of Nats-Schedule for an expression that cron_check allows. Returns out. */
char *cron_schedule(const char *cron, char out[CRON_SCHEDULE_MAX]);
/* Makes msg, a task on its ax.later subject, the schedule: sets Nats-Schedule, -Time-Zone and
 * -Target. paused: a schedule that fires in the year 2200, and Ax-Paused. */
ax_err cron_set_schedule(natsMsg *msg, const struct task *t, bool paused);
bool cron_is_paused(natsMsg *msg);
/* msg, stored under ax.later, is a recurring task. */
bool cron_is_schedule(natsMsg *msg);

/* The id of a firing: the same after any restart and however often the firing is delivered, and
 * different from that of every other firing. It is made of the schedule's version and the time
 * at which the server says that the schedule fires next. A server that has forgotten a firing
 * and fires again says the same time. `ax cron run-now` gives a message id in its place. due:
 * the message that fell due; seq and time_ns: its own in AX_LATER, for a message that says
 * neither. */
void cron_firing_id(const char *schedule_id, int64_t submitted, natsMsg *due, uint64_t seq,
                    int64_t time_ns, char out[TASK_ID_CHARS + 1]);
/* The same from a mark: the value of Nats-Schedule-Next or Nats-Msg-Id. */
void cron_firing_id_of(const char *schedule_id, int64_t submitted, const char *mark,
                       char out[TASK_ID_CHARS + 1]);
/* "<key>@2030-01-31T09:00:00Z": key of the firing that was stored at time_ns. Returns out. */
char *cron_firing_key(const char *key, int64_t time_ns, char out[CRON_KEY_MAX]);

#endif
