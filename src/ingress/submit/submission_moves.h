/* What becomes of a submission: one table of moves, without any I/O (base/moves.h). submission.c
 * carries the actions out and gives the answers back as events. */
#ifndef AX_INGRESS_SUBMIT_SUBMISSION_MOVES_H
#define AX_INGRESS_SUBMIT_SUBMISSION_MOVES_H

#include <stdbool.h>

#include "base/moves.h"

/* Each state is the answer that is awaited. */
#define SUBMISSION_STATES(X)                                                              \
    X(SUBMISSION_NEW, "new")                      /* its checks */                        \
    X(SUBMISSION_RECORD, "record looked for")     /* in KV_AX_DONE */                     \
    X(SUBMISSION_LATER, "AX_LATER looked at")     /* is its key there? */                 \
    X(SUBMISSION_DEAD, "AX_DEAD looked at")       /* is its key there? */                 \
    X(SUBMISSION_PLACE, "to be placed")           /* queue, spill, later */               \
    X(SUBMISSION_QUEUE, "queue looked at")        /* before another place takes it */     \
    X(SUBMISSION_WORK, "AX_WORK looked at")       /* is the known task running? */        \
    X(SUBMISSION_ENQUEUE, "going into the queue") /* PubAck of the queue stream */        \
    X(SUBMISSION_SPILL, "going into the spill")   /* PubAck of AX_SPILL */                \
    X(SUBMISSION_DELAY, "going into AX_LATER")    /* PubAck of AX_LATER */                \
    X(SUBMISSION_COMPARE_QUEUE, "queue compared") /* is what is stored there ours? */     \
    X(SUBMISSION_COMPARE_SPILL, "spill compared")                                         \
    X(SUBMISSION_COMPARE_LATER, "AX_LATER compared")                                      \
    /* stored, and heard meanwhile that its key had ended before, or goes on elsewhere */ \
    X(SUBMISSION_CHECK_RECORD, "stored, record checked")                                  \
    X(SUBMISSION_CHECK_LATER, "stored, AX_LATER checked")                                 \
    X(SUBMISSION_CHECK_DEAD, "stored, AX_DEAD checked")                                   \
    X(SUBMISSION_BURY, "going into AX_DEAD")       /* PubAck of AX_DEAD */                \
    X(SUBMISSION_SCHEDULE, "schedule looked for")  /* recurring: of its key */            \
    X(SUBMISSION_REPLACE, "schedule being stored") /* PubAck of AX_LATER */               \
    X(SUBMISSION_OLDER, "older schedule looked for")                                      \
    X(SUBMISSION_REMOVE, "older schedule being removed")                                  \
    X(SUBMISSION_ENDED, "ended")
enum submission_state {
#define X(name, text) name,
    SUBMISSION_STATES(X)
#undef X
        SUBMISSION_STATE_COUNT
};

/* What came. */
#define SUBMISSION_EVENTS(X)                                                         \
    X(SUBMISSION_VALID, "valid")       /* the checks found nothing */                \
    X(SUBMISSION_REFUSED, "refused")   /* by a check, or by the server */            \
    X(SUBMISSION_UNREADY, "not ready") /* ingress must read something first */       \
    X(SUBMISSION_FOUND, "found")       /* the look found something */                \
    X(SUBMISSION_NOT_FOUND, "not found")                                             \
    X(SUBMISSION_OURS, "found, ours")     /* stored by an earlier try of this one */ \
    X(SUBMISSION_SAME, "found, the same") /* recurring: the schedule is the same */  \
    X(SUBMISSION_IN_SHARE, "group may have more")                                    \
    X(SUBMISSION_OVER_SHARE, "group has its share")                                  \
    X(SUBMISSION_OVER_POOL_SHARE, "pool has its share")                              \
    X(SUBMISSION_SPILLING, "tasks are in the spill")                                 \
    X(SUBMISSION_SPILL_ENDING, "spill is nearly empty")                              \
    X(SUBMISSION_NOT_DUE, "for later")                                               \
    X(SUBMISSION_STORED, "stored")          /* PubAck */                             \
    X(SUBMISSION_EXISTS, "id exists")       /* 10071: the subject has a message */   \
    X(SUBMISSION_FULL, "full")              /* 10077 */                              \
    X(SUBMISSION_REMOVED, "removed")        /* or it was gone already */             \
    X(SUBMISSION_NO_ROOM, "no room to ask") /* the pipeline is full */               \
    X(SUBMISSION_NO_ANSWER, "no answer")    /* or no memory to ask */                \
    X(SUBMISSION_RESUME, "its turn again")  /* what it waited for may be over */     \
    X(SUBMISSION_OVERDUE, "overdue")        /* its producer has waited for long */
enum submission_event {
#define X(name, text) name,
    SUBMISSION_EVENTS(X)
#undef X
        SUBMISSION_EVENT_COUNT
};

/* Conditions of rows; 0 is always. */
#define SUBMISSION_CONDITIONS(X)                                     \
    X(SUBMISSION_ALWAYS, "")                                         \
    X(SUBMISSION_IF_RECURRING, "recurring")                          \
    X(SUBMISSION_IF_MAYBE_DONE, "a record may exist")                \
    X(SUBMISSION_IF_MAYBE_LATER, "AX_LATER may have it")             \
    X(SUBMISSION_IF_MAYBE_DEAD, "AX_DEAD may have it")               \
    X(SUBMISSION_IF_UNREAD, "not all records were read when asked")  \
    X(SUBMISSION_IF_UNLOOKED, "keyed, its queue not looked at")      \
    X(SUBMISSION_IF_REPLIES, "has a reply subject")                  \
    X(SUBMISSION_IF_ORDERED, "ordered")                              \
    X(SUBMISSION_IF_ORDERED_REPLIES, "ordered, has a reply subject") \
    X(SUBMISSION_IF_TO_BE_TOLD, "has a reply subject, no spill")     \
    X(SUBMISSION_IF_SPILL_KEPT, "the rest of the spill is kept")     \
    X(SUBMISSION_IF_OWN_ID, "keyless, sequence known")               \
    X(SUBMISSION_IF_MAYBE_OURS, "sent again, or sequence unknown")   \
    X(SUBMISSION_IF_ROUNDS_OVER, "gone again for the last time")     \
    X(SUBMISSION_IF_REPLACED_OFTEN, "replaced by others many times") \
    X(SUBMISSION_IF_KEYED, "keyed")                                  \
    X(SUBMISSION_IF_STAYED, "asked to be removed before")            \
    X(SUBMISSION_IF_SAME, "same schedule was found")                 \
    X(SUBMISSION_IF_WAITS, "waits")                                  \
    X(SUBMISSION_IF_NOW_DONE, "by now a record may exist")           \
    X(SUBMISSION_IF_NOW_LATER, "by now AX_LATER may have another")   \
    X(SUBMISSION_IF_NOW_DEAD, "by now AX_DEAD may have it")
enum submission_condition {
#define X(name, text) name,
    SUBMISSION_CONDITIONS(X)
#undef X
        SUBMISSION_CONDITION_COUNT
};

/* What to do now. Answers end the submission, but for "unknown". */
#define SUBMISSION_ACTIONS(X)                                                      \
    X(SUBMISSION_DO_NOTHING, "")                                                   \
    X(SUBMISSION_DO_LOOK, "look") /* the next state says where */                  \
    X(SUBMISSION_DO_CHOOSE, "choose a place")                                      \
    X(SUBMISSION_DO_STORE, "store") /* the next state says where */                \
    X(SUBMISSION_DO_REMOVE, "remove")                                              \
    X(SUBMISSION_DO_RESUME, "ask (again)") /* what the state waits for */          \
    X(SUBMISSION_DO_DEFER, "defer")        /* until there is room */               \
    X(SUBMISSION_DO_WAIT, "wait a moment") /* 10 ms */                             \
    X(SUBMISSION_DO_RETRY, "retry later")  /* in a second, or after a reconnect */ \
    X(SUBMISSION_DO_ACCEPT_QUEUED, "answer: accepted, queued")                     \
    X(SUBMISSION_DO_ACCEPT_SPILLED, "answer: accepted, queued (in the spill)")     \
    X(SUBMISSION_DO_ACCEPT_LATER, "answer: accepted, later")                       \
    X(SUBMISSION_DO_ACCEPT_STORED, "answer: accepted, as it is stored")            \
    X(SUBMISSION_DO_KNOWN_QUEUED, "answer: known, queued")                         \
    X(SUBMISSION_DO_KNOWN_SPILLED, "answer: known, queued (in the spill)")         \
    X(SUBMISSION_DO_KNOWN_RUNNING, "answer: known, running")                       \
    X(SUBMISSION_DO_KNOWN_LATER, "answer: known, later")                           \
    X(SUBMISSION_DO_KNOWN_DONE, "answer: known, done")                             \
    X(SUBMISSION_DO_KNOWN_DEAD, "answer: known, dead")                             \
    X(SUBMISSION_DO_BUSY_SHARE, "answer: busy, over its share")                    \
    X(SUBMISSION_DO_BUSY_POOL, "answer: busy, its pool has its share")             \
    X(SUBMISSION_DO_BUSY_QUEUE, "answer: busy, the queue is full")                 \
    X(SUBMISSION_DO_BUSY_SPILL, "answer: busy, its spill is full, too")            \
    X(SUBMISSION_DO_REFUSE, "answer: refused")                                     \
    X(SUBMISSION_DO_UNKNOWN, "answer: unknown")                                    \
    X(SUBMISSION_DO_BURY_REFUSED, "bury: refused")                                 \
    X(SUBMISSION_DO_BURY_ORDERED, "bury: full, and ordered")                       \
    X(SUBMISSION_DO_BURY_FULL, "bury: queue and spill are full")                   \
    X(SUBMISSION_DO_END, "end")
enum submission_action {
#define X(name, text) name,
    SUBMISSION_ACTIONS(X)
#undef X
        SUBMISSION_ACTION_COUNT
};

/* A submission as the table sees it: its state and what is known of it. */
struct submission_facts {
    enum submission_state state;
    /* fixed by the task and its message */
    bool keyed, ordered, recurring, replies;
    /* set by the shell before the event that they are about */
    bool maybe_done, maybe_later, maybe_dead; /* VALID: where its key may be */
    bool unread; /* asking for the record: some records are not read yet, so "none" may be wrong */
    bool spills; /* FULL, OVER_POOL_SHARE: its priority has the policy spill, and that has room */
    bool spill_kept; /* OVER_POOL_SHARE: the spill has room only for pools within their share */
    bool sent_again; /* EXISTS: an earlier publish of ours may have been stored */
    bool seq_known;  /* EXISTS: the server named the sequence of what exists */
    bool now_done, now_later, now_dead; /* STORED, OURS: may its key be there by now? */
    bool stayed; /* FOUND: the older schedule that was to be removed is still there */
    /* kept by submission_moves_step */
    bool waits;  /* it is deferred, or waits for a moment or for a retry */
    bool looked; /* its key is not in its queue */
    bool same;   /* its schedule exists already */
    int rounds;  /* times that what existed was gone when it was looked at */
};

/* The table. */
struct moves *submission_moves_table(void);

/* Event for f: makes the move in f and returns it. NULL, and nothing changed: m has no move for it,
 * or f waits (then only RESUME and OVERDUE can come). m: submission_moves_table(), or a test's. */
const struct move *submission_moves_step(struct moves *m, struct submission_facts *f,
                                         enum submission_event event);

#endif
