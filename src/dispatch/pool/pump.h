/* The pump: decides that a task starts now. It hands over while there is demand, a token and a
 * task, strictly by rank with a share kept for the lower ones (docs/design/dispatching.md), and
 * asks the queues for as many messages as may be wanted soon. Loop's lock held. */
#ifndef AX_DISPATCH_POOL_PUMP_H
#define AX_DISPATCH_POOL_PUMP_H

struct pool;

/* Something changed: the pump runs. Once for all that one read brings, so that a pull and a task of
 * higher priority that come together meet whatever their order. */
void pump_soon(struct pool *p);

#endif
