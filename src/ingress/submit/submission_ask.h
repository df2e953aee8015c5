/* The questions of a submission to JetStream, one at a time. Each function asks, and later calls
 * `then` once with the answer; never when the submission has ended. What could not be asked comes
 * as an event at once: NO_ROOM (the pipeline is full), REFUSED (it can never be stored), NO_ANSWER.
 * So asking is the last thing a caller does with s. Lock of the loop held in every call. */
#ifndef AX_INGRESS_SUBMIT_SUBMISSION_ASK_H
#define AX_INGRESS_SUBMIT_SUBMISSION_ASK_H

#include "ingress/submit/submission.h"

/* As pipeline_get. */
void submission_ask_get(struct submission *s, const char *stream, const char *subject, uint64_t seq,
                        void (*then)(struct submission *, ax_err, const struct stored_msg *));
/* The record of its key. */
void submission_ask_record(struct submission *s, void (*then)(struct submission *, ax_err,
                                                              const struct record *, uint64_t));
/* As pipeline_request; AX_E_TIMEOUT after 3 s. */
void submission_ask_request(struct submission *s, const char *subject, const char *payload,
                            void (*then)(struct submission *, const struct answer *));

/* A slot for the publish below: its reply subject. False: NO_ROOM has come, s may have ended. */
bool submission_ask_reserve(struct submission *s, char reply[PIPELINE_REPLY_MAX]);
/* msg is taken. NULL: it could not be built for want of memory. */
void submission_ask_publish(struct submission *s, const char *reply, natsMsg *msg,
                            void (*then)(struct submission *, const struct answer *));

#endif
