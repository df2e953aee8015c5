/* From the staged list into AX_WORK. Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_HAND_OFF_H
#define AX_DISPATCH_ATTEMPT_HAND_OFF_H

struct attempt;
struct dispatch;

/* Checks the filter, reads AX_DONE on a maybe, publishes to AX_WORK. The run is
 * unlinked from the staged list and its demand and token are taken already. */
void hand_off_start(struct attempt *r);

/* Hand-offs of abandoned attempts that have no answer yet are not sent again. */
void hand_off_give_up(struct dispatch *d);

#endif
