/* Whether there is memory for a submission, decided before anything is read of it: a flood is
 * refused for less than it costs to send. Lock of the loop held in every call. */
#ifndef AX_INGRESS_SUBMIT_ADMISSION_H
#define AX_INGRESS_SUBMIT_ADMISSION_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "ingress/door/account.h"
#include "ingress/ingress.h"

/* Headers of a message, as they came. Read, each takes many times as much as it is long. */
#define ADMISSION_HEADERS_MAX_BYTES (64 << 10)
/* What a submission costs beside its body and headers. */
#define ADMISSION_TASK_BYTES 2048

/* msg is borrowed, bytes long with its headers; reply: as replies_of gave it. True: c is taken for
 * it, for account_give. False: it is answered, or counted as dropped when it has no reply subject,
 * and msg is done with. */
bool admission_take(struct ingress *ing, natsMsg *msg, const char *reply, int64_t bytes,
                    struct charge *c);
/* The same for what a batch of count tasks takes unpacked, c being what it has taken already. */
bool admission_take_batch(struct ingress *ing, natsMsg *msg, const char *reply, size_t count,
                          size_t unpacked_bytes, struct charge *c);

#endif
