/* What becomes of a due or spilled message: one table of moves, without any I/O (base/moves.h).
 * Rule 4 of docs/design/attempts.md stands in its rows. feed.c carries the actions out and gives
 * the answers back as events. */
#ifndef AX_INGRESS_FEED_FEED_MOVES_H
#define AX_INGRESS_FEED_FEED_MOVES_H

#include <stdbool.h>

#include "base/moves.h"

#define FEED_STATES(X)                                                             \
    X(FEED_NEW, "new")                                                             \
    X(FEED_READY, "ready")                         /* waits for its turn */        \
    X(FEED_ASIDE, "set aside")                     /* its pool has its share */    \
    X(FEED_EXAMINING, "earlier firing looked for") /* queue full */                \
    X(FEED_CLAIMING, "being claimed")              /* recurring: may it be fed? */ \
    X(FEED_PUBLISHING, "going into the queue")                                     \
    X(FEED_LOOKING, "queue looked at") /* which attempt has it? */                 \
    X(FEED_WAITING, "waiting")         /* until a time */                          \
    X(FEED_ACKING, "being acked")      /* the source message */                    \
    X(FEED_ENDED, "ended")
enum feed_state {
#define X(name, text) name,
    FEED_STATES(X)
#undef X
        FEED_STATE_COUNT
};

#define FEED_EVENTS(X)                                                                     \
    X(FEED_TASK, "a task")                                                                 \
    X(FEED_NO_TASK, "no task")                  /* somebody stored something else there */ \
    X(FEED_SWEPT, "no task, left to the sweep") /* of AX_LATER */                          \
    X(FEED_NO_MEMORY, "no memory")                                                         \
    X(FEED_NO_PLACE, "no place in the queue") /* full, or over its share */                \
    X(FEED_CROWDED, "its pool crowds the window")                                          \
    X(FEED_TURN, "its turn")                                                               \
    X(FEED_GO, "claimed") /* recurring */                                                  \
    X(FEED_SKIP, "the last firing is unfinished")                                          \
    X(FEED_STORED, "stored")    /* PubAck of the queue stream */                           \
    X(FEED_EXISTS, "id exists") /* 10071 */                                                \
    X(FEED_FULL, "full")        /* 10077 */                                                \
    X(FEED_REFUSED, "refused")                                                             \
    X(FEED_FOUND, "found, same or later attempt")                                          \
    X(FEED_FOUND_EARLIER, "found, earlier attempt")                                        \
    X(FEED_NOT_FOUND, "not found")                                                         \
    X(FEED_NO_ANSWER, "no answer")                                                         \
    X(FEED_NO_ROOM, "no room to ask") /* the pipeline is full */                           \
    X(FEED_NOT_ASKED, "could not be asked")                                                \
    X(FEED_ACKED, "acked")                                                                 \
    X(FEED_DUE, "its wait is over")                                                        \
    X(FEED_STOPPED, "the feeder stops")
enum feed_event {
#define X(name, text) name,
    FEED_EVENTS(X)
#undef X
        FEED_EVENT_COUNT
};

#define FEED_CONDITIONS(X)                              \
    X(FEED_ALWAYS, "")                                  \
    X(FEED_IF_UNCLAIMED, "a firing, not claimed yet")   \
    X(FEED_IF_UNEXAMINED, "a firing, not examined yet") \
    X(FEED_IF_TRIES_LEFT, "the ack was sent less than 3 times")
enum feed_condition {
#define X(name, text) name,
    FEED_CONDITIONS(X)
#undef X
        FEED_CONDITION_COUNT
};

#define FEED_ACTIONS(X)                                                   \
    X(FEED_DO_NOTHING, "")                                                \
    X(FEED_DO_QUEUE_UP, "queue up, in order of arrival")                  \
    X(FEED_DO_CLAIM, "claim")                                             \
    X(FEED_DO_SET_ASIDE, "set aside")                                     \
    X(FEED_DO_LOOK_EARLIER, "look for an earlier one of its schedule")    \
    X(FEED_DO_GIVE_WAY, "nak the source message for a time; forget")      \
    X(FEED_DO_PUBLISH, "publish")                                         \
    X(FEED_DO_LOOK, "look")                                               \
    X(FEED_DO_ACK, "ack the source message")                              \
    X(FEED_DO_ACK_UNHEARD, "ack, without waiting for the answer; forget") \
    X(FEED_DO_WAIT_TICK, "come back in 0.1 s")                            \
    X(FEED_DO_WAIT_EARLIER, "come back in 0.2 s")                         \
    X(FEED_DO_WAIT_ERROR, "come back in 1 s")                             \
    X(FEED_DO_GIVE_BACK, "nak the source message; forget")                \
    X(FEED_DO_FORGET, "forget")
enum feed_action {
#define X(name, text) name,
    FEED_ACTIONS(X)
#undef X
        FEED_ACTION_COUNT
};

struct feed_facts {
    enum feed_state state;
    bool unclaimed;  /* a firing of a recurring task that must be claimed first */
    bool unexamined; /* a firing: an earlier one of its schedule may wait, too */
    int acks;        /* acks sent and not heard of */
};

/* The table. */
struct moves *feed_moves_table(void);

/* Event for f: makes the move in f and returns it. NULL, and nothing changed: m has no move for
 * it. */
const struct move *feed_moves_step(struct moves *m, struct feed_facts *f, enum feed_event event);

#endif
