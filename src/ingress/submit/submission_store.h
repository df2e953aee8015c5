/* Where a submission goes, and storing it there. Lock of the loop held. */
#ifndef AX_INGRESS_SUBMIT_SUBMISSION_STORE_H
#define AX_INGRESS_SUBMIT_SUBMISSION_STORE_H

#include "ingress/submit/submission.h"

/* Ends with one event: IN_SHARE (and is counted as being in the queue), OVER_SHARE, SPILLING,
 * SPILL_ENDING, NOT_DUE. */
void submission_store_choose(struct submission *s);

/* Each ends with one event: STORED, EXISTS, FULL, REFUSED. */
void submission_store_queue(struct submission *s);
void submission_store_spill(struct submission *s);
void submission_store_later(struct submission *s);
void submission_store_dead(struct submission *s); /* s->reason says why */

/* It is stored there, with this sequence: keeps that for ACCEPT_STORED, and the facts now_….
 * stream: borrowed for the life of s. */
void submission_store_note(struct submission *s, const char *stream, uint64_t seq);

/* The server refused for a reason of its own: the message is larger than the stream takes, the
 * stream is sealed, and so on. The event is REFUSED. */
void submission_store_refused(struct submission *s, const char *stream, const struct answer *a);

#endif
