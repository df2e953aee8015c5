/* ax.figures: what this ingress knows of the queues and what it answered lately, for who asks
 * (docs/protocol.md). */
#ifndef AX_INGRESS_TOLD_H
#define AX_INGRESS_TOLD_H

#include "core/error.h"

struct ingress;

/* Lock not held. ing->told lives as long as the process. */
ax_err told_start(struct ingress *ing);

#endif
