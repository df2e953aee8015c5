/* When a hand-off was stored, as far as a dispatcher knows, and whether an ack fits that
 * (docs/design/acks.md, "Which acks are believed").
 *
 * An ack's subject names the sequence of its hand-off and the time at which the server stored it,
 * in nanoseconds. A worker copies the subject from the message that it got. Somebody who did not
 * get the message has to guess the time. Pure functions. */
#ifndef AX_DISPATCH_ATTEMPT_HAND_OFF_TIME_H
#define AX_DISPATCH_ATTEMPT_HAND_OFF_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct hand_off_time {
    int64_t stored_ns;   /* as the server stamped it, read from AX_WORK; 0: not read */
    int64_t sent_ns;     /* monotonic: it was stored after this */
    int64_t answered_ns; /* monotonic: it was stored before this; 0: its answer is still to come */
    int64_t offset_ns;   /* clock_offset_ns when it was sent */
    bool exact_only;     /* acks were being forged when it was made: an estimate is not enough */
};

/* While the exact time is not known: how much the clocks of AX and of a cluster's servers may
 * differ, beside any step of the server's clock that AX has learnt of. Somebody who forges acks
 * knows about what time it is, so a smaller one would keep nobody out. */
#define HAND_OFF_TIME_MARGIN_NS 120000000000LL

/* Its publish is sent now (monotonic). */
struct hand_off_time hand_off_time_sent(const struct clock *c);
/* It was stored before: at some time after its queue message, which the server stored at
 * queued_ns. */
struct hand_off_time hand_off_time_since(struct clock *c, int64_t queued_ns);

/* An ack whose subject says ack_stored_ns, and that was heard at heard_ns (monotonic), may be one
 * for it. With the exact time known: the two are equal. Else, unless exact_only: it was heard after
 * the hand-off was sent, and the time lies between the sending and the answer, whether by offset_ns
 * (clock_offset_ns now) or by what the offset was at the sending. */
bool hand_off_time_fits(const struct hand_off_time *t, int64_t ack_stored_ns, int64_t heard_ns,
                        int64_t offset_ns);

#endif
