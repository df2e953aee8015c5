/* Which priority is next: strictly by rank, with a share kept for the lower ones
 * (docs/design/dispatching.md). Loop lock. */
#ifndef AX_DISPATCH_POOL_ORDER_H
#define AX_DISPATCH_POOL_ORDER_H

#include "dispatch/pool/pool.h"

/* The attempt to hand off next; it still waits. NULL: none may start, or the next task of the
 * highest priority with tasks is on its way from the server, which is worth the wait. */
struct attempt *order_next(struct pool *p);
/* How long order_next waits for the next message of a priority whose queue has more, before a lower
 * priority goes first. */
#define ORDER_REFILL_WAIT_NS 50000000LL
/* order_next waits for one now. */
bool order_is_refilling(const struct pool *p);
/* a, which order_next returned, is handed off: accounts for the share of the lower priorities. */
void order_taken(struct pool *p, const struct attempt *a);

#endif
