/* The steps of a submission that was found valid: look whether its key is known, then store it. */
#ifndef AX_INGRESS_SUBMIT_SUBMIT_STEPS_H
#define AX_INGRESS_SUBMIT_SUBMIT_STEPS_H

#include "ingress/submit/submit.h"

/* Makes step the one that is repeated when it has to be, and takes it. */
void submit_run(struct submit *s, void (*step)(struct submit *));
/* The step's question could not be asked: waits for room, tries again, or refuses what can never be
 * stored. */
void submit_not_asked(struct submit *s, ax_err err);

/* s->places says where to look first. */
void submit_step_look(struct submit *s);
/* Stores a dead letter; s->reason says why. */
void submit_step_bury(struct submit *s);

#endif
