/* Why a dead letter is written, as counted in ax_dead_total. */
#ifndef AX_DISPATCH_ATTEMPT_DEAD_REASON_H
#define AX_DISPATCH_ATTEMPT_DEAD_REASON_H

/* The texts are the values of the metric's label `reason`. */
#define DEAD_REASONS_LIST(X)         \
    X(DEAD_FAILED, "failed")         \
    X(DEAD_TIMED_OUT, "timed_out")   \
    X(DEAD_TERMINATED, "terminated") \
    X(DEAD_EXPIRED, "expired")       \
    X(DEAD_MALFORMED, "malformed")   \
    X(DEAD_OTHER, "other")
enum dead_reason {
#define X(name, text) name,
    DEAD_REASONS_LIST(X)
#undef X
        DEAD_REASONS
};

#endif
