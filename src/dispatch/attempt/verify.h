/* Verifying at AX_WORK before anything is concluded (rules 3 and 7). Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_VERIFY_H
#define AX_DISPATCH_ATTEMPT_VERIFY_H

#include <stdbool.h>

struct attempt;

void verify_start(struct attempt *r); /* rules 3 and 7 */
/* Its lease has lapsed and did not come back: the queue message may be gone (the answer to its ack
 * was lost). Until the run is forgotten, no other message of its id is started. */
void verify_lease(struct attempt *r);
/* terminations.c has read AX_EVENTS: reason NULL: no worker terminated it. known false: it could
 * not be told. */
void verify_ended_by(struct attempt *r, bool known, const char *reason);

#endif
