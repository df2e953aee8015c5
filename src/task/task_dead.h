/* A dead letter of a task that nobody attempts: of a submission that could not be taken and had no
 * reply subject, of a queue message that no pool serves, of the tasks of a pool that is removed.
 * Pure functions over nats.c's messages. */
#ifndef AX_TASK_TASK_DEAD_H
#define AX_TASK_TASK_DEAD_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "task/task.h"

/* *out: message on ax.dead.<pool>.<id> with the body and the headers of what was submitted, and why
 * it was refused. task: what could be read of it; without an id it gets a fresh one, without a pool
 * it goes to `default`. submitted: the message it came in, or NULL when body and headers are the
 * task's own (a batch). Cut to fit into max_payload_bytes. AX_E_NOMEM. */
ax_err task_dead_to_msg(const struct task *task, natsMsg *submitted, const char *reply,
                        const char *reason, int64_t died_ns, int64_t max_payload_bytes,
                        natsMsg **out);

/* A stored message that is to become a dead letter: where it is, and what it is. */
struct task_dead_source {
    const char *stream, *subject;
    uint64_t seq;
    int64_t time_ns; /* when it was stored */
    natsMsg *msg;
};

/* The same of a message that is stored; reply may be NULL. One that holds no task keeps its body,
 * and has an id made of its place. The message id is made of the task, its submission and its
 * attempt: a repeat within the duplicate window of AX_DEAD stores nothing new, nor does a task that
 * was just being moved from one stream to another and is found in both. AX_E_NOMEM. */
ax_err task_dead_of_stored(const struct task_dead_source *from, const char *reply,
                           const char *reason, int64_t died_ns, int64_t max_payload_bytes,
                           natsMsg **out);

#endif
