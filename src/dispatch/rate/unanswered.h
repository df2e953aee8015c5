/* Starts without an answer. A start counts when its token is taken, and happens when the server has
 * stored it. What is held up in between, by a server that stands still or by a look-up, happens all
 * at once afterwards: so no more of it is begun than a burst, or than twice what is usually under
 * way if that is more, and no tokens come meanwhile. One for each bucket, a pool's and a group's.
 * Loop lock. */
#ifndef AX_DISPATCH_RATE_UNANSWERED_H
#define AX_DISPATCH_RATE_UNANSWERED_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/rate/bucket.h"

struct unanswered {
    int64_t count;    /* hold a token of the bucket, and are not known to be stored */
    int64_t since_ns; /* monotonic: since when no more is begun because of them; 0: it is */
};

/* No more may be begun for now. Asked before a token is taken, and when an answer has come while it
 * said so: the bucket is held (bucket_hold) from the one to the other. usual_ns: how long an answer
 * takes as a rule. */
bool unanswered_are_due(struct unanswered *u, struct bucket *b, int64_t usual_ns, int64_t now_ns);

#endif
