/* The protobuf form of a submission: ax.v1.Task, or many of them in an ax.v1.TaskBatch. A parser of
 * foreign input. Pure. */
#ifndef AX_TASK_TASK_PROTO_H
#define AX_TASK_TASK_PROTO_H

#include "task/task.h"

/* Protobuf form: payload of an ax.v1.Task. priority and pool come from the subject, and the
 * message's own fields may only repeat them: who may publish to a subject may submit there and
 * nowhere else. On SUBMIT_ANY the message names them. *unpacked (an Ax__V1__Task) is what the task
 * borrows from: free it with task_proto_free after task_clear. */
ax_err task_proto_read(struct task *t, const char *subject, const void *data, size_t bytes,
                       void **unpacked, struct problem *p);
void task_proto_free(void *unpacked);

/* A batch (ax.v1.TaskBatch) of 1 to TASK_BATCH_MAX tasks: unpacks, then hands out one task at a
 * time. */
ax_err task_proto_unpack_batch(const void *data, size_t bytes, void **batch, size_t *count,
                               struct problem *p);
/* What it takes to unpack it, about and rather more than less, told without unpacking: *count is
 * that of its tasks, as far as it can be read. */
size_t task_proto_weigh_batch(const void *data, size_t bytes, size_t *count);
ax_err task_proto_read_nth(struct task *t, const char *subject, const void *batch, size_t index,
                           struct problem *p);
void task_proto_free_batch(void *batch);

#endif
