/* Starts that have no answer yet. A start takes its token when it begins, and counts for the worker
 * when the server has stored the hand-off. A server that pauses, or a slow look-up, holds up starts
 * in between; they then happen all at once. So at most a burst of them may be without an answer, or
 * twice as many as usually are if that is more, and no tokens come while that limit is reached. One
 * for each bucket, a pool's and a group's. Pure: the caller passes the time (monotonic). Loop
 * lock. */
#ifndef AX_DISPATCH_RATE_UNANSWERED_H
#define AX_DISPATCH_RATE_UNANSWERED_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/rate/bucket.h"

/* Zero-initialise. */
struct unanswered {
    int64_t count;    /* starts that hold a token of the bucket and are not known to be stored */
    int64_t since_ns; /* monotonic: since when they keep others from starting; 0: they do not */
};

/* True: no start may begin now. To be called before a token is taken, and again when an answer has
 * come while it was true; between the two the bucket gets no tokens (bucket_hold). usual_ns: how
 * long an answer usually takes. */
bool unanswered_are_due(struct unanswered *u, struct bucket *b, int64_t usual_ns, int64_t now_ns);

#endif
