/* The headers form of a submission. A parser of foreign input. Pure. */
#ifndef AX_TASK_TASK_SUBMIT_H
#define AX_TASK_TASK_SUBMIT_H

#include "task/task.h"

/* Reads a submission on ax.submit.…: checks subject and every header (docs/protocol.md), gives a
 * keyed task its id and a keyless one a fresh id. Drops Nats-* headers but for Nats-Msg-Id. Does
 * not check that the priority exists, nor the size (task_check_size). msg: borrowed. On error
 * nothing has to be cleared.
 *
 * AX_E_INVALID: p names header, value and what is allowed. Refused are an unknown Ax-* header in
 * any case of letters, a header of AX's given twice, a key of 0 or more than 512 bytes,
 * Nats-Msg-Id and Ax-Key that differ, numbers out of range, a delay and a time together.
 * AX_E_NOMEM. */
ax_err task_submit_read(struct task *t, natsMsg *msg, struct problem *p);

/* Checks the headers of a message whose body is protobuf. Its fields stand in the body, so a
 * header of AX's (or Nats-Msg-Id) beside Ax-Schema would be ignored silently; it is refused
 * instead (AX_E_INVALID). */
ax_err task_submit_check_proto(natsMsg *msg, struct problem *p);

#endif
