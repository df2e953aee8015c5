/* May a firing of a recurring task be fed? One table of moves, without any I/O (base/moves.h). The
 * task of the firing before it is looked for along its way: due message, spill, queue, AX_LATER for
 * a retry, queue again. It is written to the next place before it leaves the last, so these looks
 * find it. cron_firing.c carries the actions out. */
#ifndef AX_INGRESS_FEED_FIRING_MOVES_H
#define AX_INGRESS_FEED_FIRING_MOVES_H

#include "base/moves.h"

/* Each state is the answer that is awaited. */
#define FIRING_STATES(X)                           \
    X(FIRING_RECORD, "record read")                \
    X(FIRING_DUE, "last due message looked for")   \
    X(FIRING_SPILL, "spill looked at")             \
    X(FIRING_QUEUE, "queue looked at")             \
    X(FIRING_LATER, "AX_LATER looked at")          \
    X(FIRING_QUEUE_AGAIN, "queue looked at again") \
    X(FIRING_CLAIM, "record being written")        \
    X(FIRING_ENDED, "ended")
enum firing_state {
#define X(name, text) name,
    FIRING_STATES(X)
#undef X
        FIRING_STATE_COUNT
};

#define FIRING_EVENTS(X)                                                         \
    X(FIRING_NO_RECORD, "none")     /* or it was deleted, or written by hand */  \
    X(FIRING_OWN, "of this firing") /* claimed before, and not heard of since */ \
    X(FIRING_NEWER, "of a later firing")                                         \
    X(FIRING_LAST, "of the last firing")                                         \
    X(FIRING_FOUND, "found")                                                     \
    X(FIRING_NOT_FOUND, "not found")                                             \
    X(FIRING_WRITTEN, "written")                                                 \
    X(FIRING_CHANGED, "changed by another") /* 10071 */                          \
    X(FIRING_NO_ANSWER, "no answer")
enum firing_event {
#define X(name, text) name,
    FIRING_EVENTS(X)
#undef X
        FIRING_EVENT_COUNT
};

#define FIRING_CONDITIONS(X) \
    X(FIRING_ALWAYS, "")     \
    X(FIRING_IF_OFTEN, "10 times")
enum firing_condition {
#define X(name, text) name,
    FIRING_CONDITIONS(X)
#undef X
        FIRING_CONDITION_COUNT
};

#define FIRING_ACTIONS(X)                        \
    X(FIRING_DO_NOTHING, "")                     \
    X(FIRING_DO_LOOK, "look")                    \
    X(FIRING_DO_WRITE, "write, compare-and-set") \
    X(FIRING_DO_GO, "tell: feed it")             \
    X(FIRING_DO_SKIP, "tell: skip it")           \
    X(FIRING_DO_RETRY, "tell: ask again")
enum firing_action {
#define X(name, text) name,
    FIRING_ACTIONS(X)
#undef X
        FIRING_ACTION_COUNT
};

struct firing_facts {
    enum firing_state state;
    int rounds; /* times another changed the record */
};

/* The table. */
struct moves *firing_moves_table(void);

/* Event for f: makes the move in f and returns it. NULL, and nothing changed: m has no move for
 * it. */
const struct move *firing_moves_step(struct moves *m, struct firing_facts *f,
                                     enum firing_event event);

#endif
