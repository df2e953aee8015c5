/* What an attempt asks of JetStream, one question at a time. The answer of a question whose attempt
 * was abandoned meanwhile reaches no handler: the attempt is forgotten with it. Each function
 * returns false when the question could not be asked; its handler is not called then. Loop's lock
 * held. */
#ifndef AX_DISPATCH_ATTEMPT_ATTEMPT_ASK_H
#define AX_DISPATCH_ATTEMPT_ATTEMPT_ASK_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "bus/consumer_info.h"
#include "bus/pipeline_get.h"
#include "bus/stream_info.h"
#include "dispatch/attempt/attempt.h"
#include "done/record.h"

#define ATTEMPT_ASK_WAIT_MS 5000

/* One stored message; arguments as for pipeline_get. */
bool attempt_ask_message(struct attempt *a, const char *stream, const char *subject, uint64_t seq,
                         void (*on_found)(struct attempt *, ax_err, const struct stored_msg *));
/* Its dead letter, or that of its key. */
bool attempt_ask_dead_letter(struct attempt *a,
                             void (*on_found)(struct attempt *, ax_err, const struct stored_msg *));
/* Its idempotency record, in the indexes of batches too. */
bool attempt_ask_record(struct attempt *a, void (*on_record)(struct attempt *, ax_err,
                                                             const struct record *, uint64_t));
bool attempt_ask_consumer(struct attempt *a,
                          void (*on_info)(struct attempt *, ax_err, const struct consumer_info *));
bool attempt_ask_stream(struct attempt *a,
                        void (*on_info)(struct attempt *, ax_err, const struct stream_info *));
/* Until everything recorded by now is known. */
bool attempt_ask_catch_up(struct attempt *a, void (*on_caught_up)(struct attempt *));
/* How a worker ended its hand-off: known false: it could not be told; reason NULL: not terminated.
 */
bool attempt_ask_termination(struct attempt *a,
                             void (*on_told)(struct attempt *, bool known, const char *reason));

/* Publishes msg (taken; NULL: it could not be built) on the slot reserved as reply, until there is
 * an answer. Given up when the attempt is abandoned. AX_OK, or why not. */
ax_err attempt_ask_publish(struct attempt *a, const char *reply, natsMsg *msg,
                           void (*on_answer)(struct attempt *, const struct answer *));
/* Acks its queue message and waits for the server's confirmation. */
bool attempt_ask_release(struct attempt *a,
                         void (*on_answer)(struct attempt *, const struct answer *));
/* Writes its record as done, with others of its pool. Not given up: it stays true whoever leads. */
bool attempt_ask_recording(struct attempt *a,
                           void (*on_answer)(struct attempt *, const struct answer *));

/* For terminations.c: the answer to attempt_ask_termination. */
void attempt_ask_terminated(struct attempt *a, bool known, const char *reason);

/* Publishes of abandoned attempts that have no answer yet are not sent again. */
void attempt_ask_give_up(struct dispatch *d);

#endif
