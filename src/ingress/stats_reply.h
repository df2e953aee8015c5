/* ax.figures: what this ingress knows of the queues and what it answered lately, for who asks
 * (docs/protocol.md). */
#ifndef AX_INGRESS_STATS_REPLY_H
#define AX_INGRESS_STATS_REPLY_H

#include "base/error.h"

struct ingress;

/* ing->stats_reply lives as long as the process. */
ax_err stats_reply_start(struct ingress *ing);

#endif
