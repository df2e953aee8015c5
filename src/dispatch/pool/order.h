/* Which priority is next: strictly by rank, with a share kept for the lower ones
 * (docs/design/dispatching.md). Loop lock. */
#ifndef AX_DISPATCH_POOL_ORDER_H
#define AX_DISPATCH_POOL_ORDER_H

#include "dispatch/pool/pool.h"

/* The run to hand over next, still staged; NULL: none, or the highest priority with tasks has its
 * next one still on the way, which is worth the round trip. */
struct attempt *order_next(struct pool *p);
/* How long the next message of a priority that is known to have more is waited for before a lower
 * one goes first. */
#define ORDER_REFILL_WAIT_NS 50000000LL
/* Is order_next waiting for one? */
bool order_is_refilling(const struct pool *p);
/* The choice was r: keeps the books of the share. */
void order_taken(struct pool *p, const struct attempt *r);

#endif
