/* Sweeps AX_LATER (docs/design/time.md, "What cannot be read"): a message that will never reach a
 * queue becomes a dead letter under an id of its own, and is deleted then; its key is free. What is
 * read and heard of AX_LATER is looked at, and all of it from time to time. Instances may sweep the
 * same message: the dead letter has a message id, so there is one. Lock of the loop held in every
 * call. */
#ifndef AX_INGRESS_SWEEP_H
#define AX_INGRESS_SWEEP_H

#include <nats/nats.h>

#include "base/error.h"

struct ingress;
struct sweep;

/* AX_E_NOMEM. */
ax_err sweep_start(struct sweep **out, struct ingress *ing);
/* A message of AX_LATER was read or heard; borrowed. When something is wrong with it, it is looked
 * at where it is stored. */
void sweep_saw(struct sweep *s, const char *subject, natsMsg *msg);

#endif
