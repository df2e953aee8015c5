/* The headers form of a submission. A parser of foreign input. Pure. */
#ifndef AX_TASK_TASK_SUBMIT_H
#define AX_TASK_TASK_SUBMIT_H

#include "task/task.h"

/* Headers form of a submission on ax.submit.…: checks subject and every header (docs/protocol.md),
 * gives a keyed task its id and a keyless one a fresh one. Refuses (AX_E_INVALID, p names header,
 * value and what is allowed): unknown Ax-* header in any case of letters, a header of AX's given
 * twice, key of 0 or > 512 bytes, Nats-Msg-Id and Ax-Key that differ, numbers out of range, a delay
 * and a time together. Drops Nats-* headers other than Nats-Msg-Id. Does not check priority against
 * existing streams nor the size (task_check_size). msg: borrowed. On error nothing to clear. */
ax_err task_submit_read(struct task *t, natsMsg *msg, struct problem *p);

/* The headers of a message whose body is protobuf: its fields stand in the body, so a header of
 * AX's (or Nats-Msg-Id) beside Ax-Schema would be ignored silently; it is refused instead
 * (AX_E_INVALID). */
ax_err task_submit_check_proto(natsMsg *msg, struct problem *p);

#endif
