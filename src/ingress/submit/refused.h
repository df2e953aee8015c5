/* The dead letter of a submission that could not be taken and had no reply subject: never to
 * nowhere (docs/design/submitting.md). */
#ifndef AX_INGRESS_SUBMIT_REFUSED_H
#define AX_INGRESS_SUBMIT_REFUSED_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "task/task.h"

/* *out: message on ax.dead.<pool>.<id> with the body and the headers of what was submitted, and why
 * it was refused. task: what could be read of it; without an id it gets a fresh one, without a pool
 * it goes to `default`. submitted: the message it came in, or NULL when body and headers are the
 * task's own (a batch). Cut to fit into max_payload_bytes. */
ax_err refused_to_msg(const struct task *task, natsMsg *submitted, const char *reply,
                      const char *reason, int64_t died_ns, int64_t max_payload_bytes,
                      natsMsg **out);

#endif
