/* The life of an attempt: its states, what may happen to it, and what is done then, as one table
 * (docs/design/attempts.md shows it as printed from here). Pure: nothing here does I/O or reads a
 * clock. attempt.c looks moves up and carries their actions out.
 *
 * A row says: in one of these states, when this event comes, and some fact of `any` holds and none
 * of `none`, the attempt goes to state `to` and the actions are carried out in order. A choice
 * state (CHOOSE_…) is left at once by the event ON_STEP. A state that awaits an answer is left by
 * that answer alone, whatever else comes meanwhile.
 *
 * The rows that keep one of the eight rules of docs/design/attempts.md name it. */
#ifndef AX_DISPATCH_ATTEMPT_ATTEMPT_MOVES_H
#define AX_DISPATCH_ATTEMPT_ATTEMPT_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, what the attempt is in */
#define ATTEMPT_STATES(X)                                                                    \
    X(NEW, "its queue message came, or its hand-off was found")                              \
    X(WAITING, "held: waits for demand, a token and its turn")                               \
    X(CHOOSE_START, "it is its turn")                                                        \
    X(READING_DEAD, "reads whether its key is among the dead letters")                       \
    X(CHOOSE_FRESH, "not dead")                                                              \
    X(CATCHING_UP, "waits until everything recorded by now is known")                        \
    X(CHOOSE_RECORD, "the view of records is as fresh as it must be")                        \
    X(READING_RECORD, "reads its idempotency record")                                        \
    X(CHOOSE_CONTENT, "not done before: it starts")                                          \
    X(READING_CONTENT, "reads the queue message, whose content was not kept")                \
    X(HANDING_OFF, "published to AX_WORK, no answer yet")                                    \
    X(RUNNING, "in AX_WORK: waits for the worker's ack")                                     \
    X(VERIFYING_HAND_OFF, "reads whether the hand-off is still in AX_WORK")                  \
    X(VERIFYING_CONSUMER, "the hand-off is there: reads whether it was delivered")           \
    X(VERIFYING_STREAM, "the hand-off is gone: reads whether AX_WORK is the same")           \
    X(VERIFYING_QUEUE, "the hand-off is gone: reads whether the queue message is stored")    \
    X(VERIFYING_TERMINATION, "a worker ended it: reads AX_EVENTS for how")                   \
    X(VERIFYING_LEASE,                                                                       \
      "left, and its lease is overdue: reads whether the queue message is stored")           \
    X(RECORDING, "done: its record is being written")                                        \
    X(CHOOSE_FAILURE, "it failed")                                                           \
    X(READING_OWN_LETTER, "timed out: reads whether its own dead letter is written already") \
    X(READING_TASK, "reads the queue message for the next attempt")                          \
    X(CHOOSE_NEXT, "failed, and its content is known")                                       \
    X(WRITING_RETRY, "the next attempt is being written to AX_LATER")                        \
    X(WRITING_DEAD_LETTER, "its dead letter is being written")                               \
    X(READING_PLACE, "the place of the retry is taken: reads by what")                       \
    X(RELEASING, "what follows is written: its queue message is being acked")                \
    X(CHOOSE_RELEASED, "what follows is written, and its queue message is gone")             \
    X(CANCELLING, "cancelled: its queue message is being acked")                             \
    X(LEFT, "a step of its end got no answer: waits for its lease to come back")             \
    X(CHOOSE_REPEAT, "its lease came back")                                                  \
    X(LOST, "AX_WORK was recreated: waits for its queue message")                            \
    X(GONE, "forgotten")

/* name, what happened */
#define ATTEMPT_EVENTS(X)                                                            \
    X(STEP, "(at once)")                                                             \
    X(DELIVERED, "the queue sent a task")                                            \
    X(MALFORMED, "the queue sent a message that is no task")                         \
    X(ADOPTED, "found in AX_WORK")                                                   \
    X(TURN, "its turn: there is demand and a token")                                 \
    X(GIVEN_UP, "the pool is being given up")                                        \
    X(REDELIVERED, "its queue message was redelivered")                              \
    X(REPLACED, "another message has its sequence, or replaces what was lost")       \
    X(OVERDUE, "its lease has expired and did not come back")                        \
    X(UNFETCHED, "nobody seems to fetch it, and it should not lie there any longer") \
    X(ACK, "ack heard")                                                              \
    X(NAK, "nak heard")                                                              \
    X(TERM, "term heard")                                                            \
    X(PROGRESS, "in-progress heard")                                                 \
    X(MISFIT, "an ack heard that does not fit the hand-off")                         \
    X(HEARD_MEANWHILE, "an answer, but an ack was heard before it")                  \
    X(OVERRAN, "it has run longer than its timeout")                                 \
    X(MAX_DELIVERIES, "the server gave up on the hand-off")                          \
    X(WORK_RECREATED, "AX_WORK was recreated")                                       \
    X(CANCEL, "somebody cancels it")                                                 \
    X(NO_ANSWER, "no usable answer, or it could not be asked")                       \
    X(DEAD_NONE, "no dead letter that concerns it")                                  \
    X(DEAD_OWN, "the dead letter of this very attempt")                              \
    X(DEAD_KEY, "a dead letter of its key")                                          \
    X(DEAD_RETURNING, "a dead letter that is just being retried by hand")            \
    X(CAUGHT_UP, "all records are known")                                            \
    X(RECORD_NONE, "no record")                                                      \
    X(RECORD_FREE, "a record that leaves the key free")                              \
    X(RECORD_DONE, "recorded as done")                                               \
    X(CONTENT, "the content was read")                                               \
    X(QUEUE_THERE, "the queue message is stored")                                    \
    X(QUEUE_GONE, "the queue message is gone")                                       \
    X(STORED, "stored")                                                              \
    X(DUPLICATE, "stored before")                                                    \
    X(TOO_LARGE, "larger than the server takes")                                     \
    X(PLACE_TAKEN, "another message has its subject")                                \
    X(PLACE_LEADS_ON, "that message leads on just as well")                          \
    X(PLACE_BEHIND, "that message is no later attempt than this one")                \
    X(PLACE_RECURRING, "that message is a recurring task")                           \
    X(HAND_OFF_THERE, "the hand-off is in AX_WORK")                                  \
    X(HAND_OFF_GONE, "the hand-off is not in AX_WORK")                               \
    X(STILL_WAITS, "not delivered yet, or its ack wait is not over")                 \
    X(SILENT, "delivered, and its ack wait is over")                                 \
    X(NOT_FETCHED, "not delivered, and expired, paused, lease is up, or deleted")    \
    X(SAME_STREAM, "AX_WORK is the one it was handed off to")                        \
    X(OTHER_STREAM, "AX_WORK is another one")                                        \
    X(TERMINATED, "the worker terminated it")                                        \
    X(FINISHED, "the worker did not terminate it")                                   \
    X(RECORDED, "its record is stored")                                              \
    X(RELEASED, "its queue message is acked")

/* name, what holds */
#define ATTEMPT_FACTS(X)                                                         \
    X(EXPIRED, "its expiry has passed")                                          \
    X(REPEATED, "a retry, or redelivered: another dispatcher may have ended it") \
    X(FROM_BEFORE, "older than this leadership, and the pool has dead letters")  \
    X(HEARD, "filter, index or acks say it may have ended")                      \
    X(UNREAD, "its record may have been written since the bucket was read")      \
    X(IN_MEMORY, "its content is kept in memory")                                \
    X(UNRECORDED, "an ack of it is known and not recorded yet")                  \
    X(RETRY, "attempt 2 or later")                                               \
    X(HANDED_OFF, "it has a hand-off")                                           \
    X(DOUBTED, "acks were heard that do not fit its hand-off")                   \
    X(UNHEARD, "no ack of it was heard, and every one would have been")          \
    X(DECIDED, "its end is decided")                                             \
    X(DONE, "its end is: done")                                                  \
    X(TIMED_OUT, "its end is: timed out")                                        \
    X(WRITTEN, "what follows it is stored")                                      \
    X(ENOUGH, "no attempt is left, or none is wanted")

/* name, what is done */
#define ATTEMPT_ACTIONS(X)                                                                 \
    X(STAGE, "put it last into the staged list")                                           \
    X(PUT_BACK,                                                                            \
      "give token and demand back; put it first into the staged list, for a little later") \
    X(UNSTAGE, "take it out of the staged list")                                           \
    X(GIVE_BACK, "give token and demand back")                                             \
    X(READ_DEAD, "read AX_DEAD")                                                           \
    X(CATCH_UP, "have AX_DONE read")                                                       \
    X(READ_RECORD, "read its record")                                                      \
    X(READ_CONTENT, "read its queue message")                                              \
    X(PUBLISH, "publish it to AX_WORK under the queue message's identity")                 \
    X(BEGIN, "note the hand-off")                                                          \
    X(BEGIN_AGAIN, "note the hand-off made before; renew")                                 \
    X(REVOKE_OLDER, "revoke older attempts")                                               \
    X(REVOKE, "revoke this attempt")                                                       \
    X(TAKE_PENDING, "handle the ack that was heard before")                                \
    X(KEEP_PENDING, "keep the ack")                                                        \
    X(RENEW, "renew the lease")                                                            \
    X(LIMIT_AGAIN, "look again in a moment")                                               \
    X(END_ACTIVITY, "take its ack wait for over")                                          \
    X(READ_HAND_OFF, "read AX_WORK")                                                       \
    X(READ_CONSUMER, "ask for the consumer's info")                                        \
    X(READ_STREAM, "ask for AX_WORK's info")                                               \
    X(READ_QUEUE, "read the queue stream")                                                 \
    X(READ_TERMINATION, "read AX_EVENTS")                                                  \
    X(LOSE, "forget the hand-off; nak the queue message")                                  \
    X(SAY_REMOVED, "say that somebody has deleted the hand-off")                           \
    X(SAY_UNHEARD, "say that no ack was heard")                                            \
    X(DECIDE, "keep how it ends, and why")                                                 \
    X(RECORD, "write its record")                                                          \
    X(WRITE_RETRY, "write the next attempt to AX_LATER under this one's identity")         \
    X(WRITE_DEAD_LETTER, "write its dead letter under its identity")                       \
    X(READ_PLACE, "read AX_LATER")                                                         \
    X(NOTE_WRITTEN, "what follows is stored")                                              \
    X(COUNT_NEXT, "count the retry or dead letter")                                        \
    X(RELEASE, "ack the queue message, and wait for the answer")                           \
    X(ACK_DONE, "count it as done; ack the queue message")                                 \
    X(ACK_DROPPED, "count it as a duplicate; ack the queue message")                       \
    X(NAK_DEAD, "nak the queue message for 2 s")                                           \
    X(NAK_LATER, "nak the queue message")                                                  \
    X(REMOVE_HAND_OFF, "remove the hand-off")                                              \
    X(SUPERSEDE, "remember the hand-off as superseded")                                    \
    X(HONOUR, "record the ack of the superseded attempt")                                  \
    X(TELL_CANCELLED, "tell that it is cancelled")                                         \
    X(TELL_NOT_CANCELLED, "tell that it could not be cancelled")                           \
    X(KEEP_SLOT, "keep its slot in its group's order")                                     \
    X(DISORDER, "somebody else ended it: rebuild the order of its group")                  \
    X(FORGET, "forget it")

#define X(name, text) ATTEMPT_##name,
enum attempt_state { ATTEMPT_STATES(X) ATTEMPT_STATE_COUNT };
#undef X
#define X(name, text) ATTEMPT_ON_##name,
enum attempt_event { ATTEMPT_EVENTS(X) ATTEMPT_EVENT_COUNT };
#undef X
#define X(name, text) ATTEMPT_DO_##name,
enum attempt_action { ATTEMPT_DO_NOTHING, ATTEMPT_ACTIONS(X) ATTEMPT_ACTION_COUNT };
#undef X
#define X(name, text) ATTEMPT_FACT_##name##_BIT,
enum attempt_fact_bit { ATTEMPT_FACTS(X) ATTEMPT_FACT_COUNT };
#undef X
#define X(name, text) ATTEMPT_IS_##name = 1 << ATTEMPT_FACT_##name##_BIT,
enum attempt_fact { ATTEMPT_FACTS(X) };
#undef X

#define ATTEMPT_MOVE_ACTIONS 5

struct attempt_move {
    uint64_t from; /* states, as bits: 1 << ATTEMPT_… */
    enum attempt_event on;
    unsigned any, none;                    /* facts; any 0: always */
    enum attempt_state to;                 /* ATTEMPT_STATE_COUNT: it stays where it is */
    uint8_t actions[ATTEMPT_MOVE_ACTIONS]; /* enum attempt_action, up to the first DO_NOTHING */
    uint8_t rule;                          /* of docs/design/attempts.md; 0: none */
};

/* The table; *count gets its length. Static. */
const struct attempt_move *attempt_moves(size_t *count);

/* The facts that decide between the rows for this state and event, as bits: only these need to be
 * known for attempt_moves_find. */
unsigned attempt_moves_facts(enum attempt_state state, enum attempt_event event);

/* The move for this state, event and facts; NULL: none, the event is not legal there. */
const struct attempt_move *attempt_moves_find(enum attempt_state state, enum attempt_event event,
                                              unsigned facts);

/* The same in a table of the caller's; slow. For tests. */
const struct attempt_move *attempt_moves_find_in(const struct attempt_move *table, size_t count,
                                                 enum attempt_state state, enum attempt_event event,
                                                 unsigned facts);

/* What kind of state it is. */
bool attempt_state_awaits_answer(enum attempt_state state);
bool attempt_state_is_choice(enum attempt_state state);
/* It looks at AX_WORK (rules 3 and 7): an ack that is heard meanwhile says more than what is found.
 */
bool attempt_state_is_verifying(enum attempt_state state);

/* Names ("RUNNING") and texts for logs and docs. Static. */
const char *attempt_state_name(enum attempt_state state);
const char *attempt_state_text(enum attempt_state state);
const char *attempt_event_name(enum attempt_event event);
const char *attempt_event_text(enum attempt_event event);
const char *attempt_action_text(enum attempt_action action);
const char *attempt_fact_text(unsigned bit);

#endif
