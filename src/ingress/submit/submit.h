/* Messages of ax.submit.…: the way in. Lock of the loop held. */
#ifndef AX_INGRESS_SUBMIT_SUBMIT_H
#define AX_INGRESS_SUBMIT_SUBMIT_H

#include <nats/nats.h>
#include <stdint.h>

struct ingress;

/* A submission or a batch of them (taken), bytes long with its headers: reads it and starts it
 * (submission.h), or answers that ingress is busy. */
void submit_take(struct ingress *ing, natsMsg *msg, int64_t bytes);

#endif
