/* Starts that have no answer yet. A start takes its token when it begins, and counts for the worker
 * when the server has stored the hand-off. What lies between takes longer for one than for another:
 * a look-up, a server that pauses. So those that were held up may be stored together with those
 * that come after them, each within the bound of the bucket, and both together above it.
 *
 * Hence a second bucket counts from the other end: a start reserves a token, and uses it when its
 * answer comes, which is after it was stored. No start may begin without a token that is not
 * reserved. Then no window of t seconds has more than `capacity` + rate·t hand-offs stored, however
 * long each was on its way: what was stored by its end is used, or reserved and thus there; and
 * no more than a full bucket was there at its beginning. The capacity is the bucket's burst, and
 * room for those that are usually on their way.
 *
 * One for each bucket, a pool's and a group's. Pure: the caller passes the time (monotonic). Loop
 * lock. */
#ifndef AX_DISPATCH_RATE_UNANSWERED_H
#define AX_DISPATCH_RATE_UNANSWERED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rate/bucket.h"

/* Zero-initialise, or by unanswered_init. */
struct unanswered {
    int64_t count;     /* starts that hold a token of the bucket and are not known to be stored */
    double tokens;     /* reserved ones included; 0 … capacity */
    int64_t last_ns;   /* monotonic time of the last refill */
    double rate_per_s; /* as of the last refill */
    bool waits;        /* a start had to wait: an answer may let it begin */
};

/* Empty, as the bucket of a new leader; what has no answer yet stays counted. */
void unanswered_init(struct unanswered *u, int64_t now_ns);
/* True: no start may begin now. To be asked before a token is taken, and again once an answer has
 * come or unanswered_wait_ns has passed. usual_ns, here and below: how long an answer usually
 * takes. */
bool unanswered_are_due(struct unanswered *u, const struct bucket *b, int64_t usual_ns,
                        int64_t now_ns);
/* While they are due: nanoseconds until they are not, even if no answer comes; INT64_MAX: not
 * without an answer. */
int64_t unanswered_wait_ns(const struct unanswered *u, const struct bucket *b, int64_t usual_ns);
/* One that is counted has its answer, or is forgotten without one. */
void unanswered_used(struct unanswered *u, const struct bucket *b, int64_t usual_ns,
                     int64_t now_ns);

#endif
