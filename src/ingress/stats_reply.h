/* ax.figures: what this ingress knows of the queues, and what it has answered lately, for anyone
 * who asks (docs/protocol.md, "Stats"). */
#ifndef AX_INGRESS_STATS_REPLY_H
#define AX_INGRESS_STATS_REPLY_H

#include "base/error.h"

struct ingress;

/* Subscribes; every query is answered from now on. Sets ing->stats_reply, which lives as long as
 * the process. Loop lock. AX_E_NOMEM, or why it could not subscribe. */
ax_err stats_reply_start(struct ingress *ing);

#endif
