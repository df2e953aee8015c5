/* Finding out what never comes: a queue message or a retry that an operator removed, or that was
 * cancelled while it waited, would hold up its group for ever. Loop lock. */
#ifndef AX_DISPATCH_FAIR_ORDER_CHECK_H
#define AX_DISPATCH_FAIR_ORDER_CHECK_H

struct pool;

/* Once a second: of group queues in which nothing has happened for two seconds, although they wait
 * for a message or a retry, asks the server whether that still exists; if not, the tasks behind it
 * go on. */
void order_check_tick(struct pool *p);

#endif
