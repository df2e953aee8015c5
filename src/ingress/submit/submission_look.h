/* The looks of a submission: is its key known, and is what is stored under its id its own? Each
 * ends with one event: FOUND, OURS (only where the state compares), NOT_FOUND, NO_ANSWER; UNREADY
 * for the record. Lock of the loop held. */
#ifndef AX_INGRESS_SUBMIT_SUBMISSION_LOOK_H
#define AX_INGRESS_SUBMIT_SUBMISSION_LOOK_H

#include "ingress/submit/submission.h"

void submission_look_record(struct submission *s); /* KV_AX_DONE */
/* The same once more after it was stored, when all records had been read. */
void submission_look_record_again(struct submission *s);
void submission_look_later(struct submission *s);   /* AX_LATER, whatever its priority */
void submission_look_dead(struct submission *s);    /* AX_DEAD */
void submission_look_queue(struct submission *s);   /* the stream of its priority */
void submission_look_work(struct submission *s);    /* AX_WORK */
void submission_look_spill(struct submission *s);   /* AX_SPILL */
void submission_look_delayed(struct submission *s); /* AX_LATER, its own subject */

#endif
