/* Answers requests to ax.record.<id>: what is recorded of a finished task, wherever its record is.
 * One of the instances answers. */
#ifndef AX_INGRESS_ASKED_H
#define AX_INGRESS_ASKED_H

#include "core/error.h"

struct ingress;

/* ing->known is there, lock not held. */
ax_err asked_start(struct ingress *ing);

#endif
