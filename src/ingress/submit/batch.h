/* A message with many tasks (ax.v1.TaskBatch): every task takes the path of a single one, and one
 * ax.v1.BatchReply with a reply for each goes back when the last has its answer. Lock held in every
 * call. */
#ifndef AX_INGRESS_SUBMIT_BATCH_H
#define AX_INGRESS_SUBMIT_BATCH_H

#include <nats/nats.h>
#include <stddef.h>

#include "base/error.h"
#include "ingress/door/account.h"
#include "ingress/ingress.h"
#include "ingress/submit/answer.h"

struct batch;

/* Takes msg apart and starts its tasks. reply: as replies_of gave it, borrowed from msg. charge:
 * what msg has taken (admission.h); taken on AX_OK. AX_E_BUSY: there is no memory for what it
 * unpacks to, which its producer was told. On another error p says what is wrong with it. On each
 * error msg is still the caller's. */
ax_err batch_take(struct ingress *ing, natsMsg *msg, const char *reply, struct charge *charge,
                  struct problem *p);
/* The task at index has its answer. */
void batch_answered(struct batch *b, size_t index, const struct verdict *v);
/* One of its submissions has ended. */
void batch_release(struct batch *b);

#endif
