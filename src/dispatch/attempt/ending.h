/* How an attempt ends: write the next state, wait for the server's word, ack the queue message, and
 * only then remove the hand-off (docs/design.md, "order of steps"). Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_ENDING_H
#define AX_DISPATCH_ATTEMPT_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/pipeline.h"
#include "dispatch/attempt/dead_reason.h"

struct attempt;
struct dispatch;

void ending_finish(struct attempt *r); /* rule "finished": record, then ack */
/* The retry of an attempt that was acked late (rule 5), while the record of that may not be stored
 * yet: finished as it. */
void ending_finish_as(struct attempt *r, uint32_t attempt, uint64_t work_seq);
void ending_repeat(struct attempt *r); /* repeats the steps of the end that was decided */
void ending_was_buried(
    struct attempt *r); /* its dead letter is there: ack the queue message, forget */
/* found (NULL: none) is the dead letter of this very attempt. */
bool ending_is_dead_letter(const struct attempt *r, const struct stored_msg *found);
/* Retry after delay_ms (-1: backoff), or dead letter when there were enough. */
void ending_fail(struct attempt *r, const char *why, int64_t delay_ms);
void ending_time_out(struct attempt *r); /* silence: the same, with a limit of its own */
/* Writes the dead letter at once. text: its reason in words, copied; it may be r->end.reason. */
void ending_bury(struct attempt *r, enum dead_reason why, const char *text);
void ending_drop(struct attempt *r); /* done before: ack the queue message, forget */
/* The attempt has run since `ran_ms` ago: starts the clock of its Ax-Timeout, if it has one. */
void ending_limit(struct attempt *r, int64_t ran_ms);
/* Ends a staged or running one for good, without a next attempt: revoke, ack the queue message,
 * remove the hand-off. ended: called once when the queue message is gone (true), or when it could
 * not be (false: the lease decides). A worker that acks meanwhile is recorded as done: *done
 * tells. */
void ending_cancel(struct attempt *r, void (*ended)(void *arg, bool gone, bool done), void *arg);

/* ax.revoke.<pool>.<id>: tells a worker that listens that attempts with a token below `fence` are
 * over. */
void ending_revoke(const struct attempt *r, uint64_t fence);

/* Retries and dead letters of abandoned attempts that have no answer yet are not sent again. */
void ending_give_up(struct dispatch *d);

#endif
