/* Rebuilding what is known of the order within groups, from the server: reads AX_LATER, then the
 * queues of the pool. A retry moves in that direction, so it cannot slip past. What changes
 * meanwhile is kept (order_slot.ended, pending_retry.ended) and wins over what was read. Loop
 * lock. */
#ifndef AX_DISPATCH_FAIR_ORDER_REBUILD_H
#define AX_DISPATCH_FAIR_ORDER_REBUILD_H

struct pool;

/* Begins one, a moment later unless it is the first of this leadership: whatever else invalidates
 * the order by then is covered, too. Repeated until nothing was missed; then ordered tasks are
 * released. No-op while one is under way (pool->order.invalid makes another one follow). */
void order_rebuild_start(struct pool *p);
/* Ends the one under way, if any, without a result. */
void order_rebuild_stop(struct pool *p);

#endif
