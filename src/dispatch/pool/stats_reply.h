/* ax.figures: what this dispatcher knows of the pools that it leads, for anyone who asks
 * (docs/protocol.md, "Stats"). Loop lock. */
#ifndef AX_DISPATCH_POOL_STATS_REPLY_H
#define AX_DISPATCH_POOL_STATS_REPLY_H

#include "base/error.h"

struct dispatch;

/* Subscribes; every query is answered from now on. */
ax_err stats_reply_listen(struct dispatch *d);

#endif
