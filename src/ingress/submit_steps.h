/* The steps of a submission that was found valid: look whether its key is known, then store it. */
#ifndef AX_INGRESS_SUBMIT_STEPS_H
#define AX_INGRESS_SUBMIT_STEPS_H

#include "ingress/submit.h"

/* s->places says where to look first. */
void submit_step_look(struct submit *s);
/* Stores a dead letter; s->reason says why. */
void submit_step_bury(struct submit *s);

#endif
