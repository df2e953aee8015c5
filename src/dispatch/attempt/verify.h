/* Verifying: AX_WORK is read before anything is concluded from silence (rules 3 and 7).
 *
 *   hand-off there, never delivered      it only waits: renew; or nobody fetches it: taken back
 *   there, delivered, ack wait not over  renew
 *   there, delivered, ack wait over      timed out
 *   gone, AX_WORK recreated meanwhile    hand off again
 *   gone, queue message still stored     a worker finished it, or terminated it: AX_EVENTS says;
 *                                        or somebody deleted it: no ack was heard, though every one
 *                                        would have been
 *   gone, queue message gone             somebody else ended it: forget it
 *
 * Actions of attempt_moves.h. Loop's lock held. */
#ifndef AX_DISPATCH_ATTEMPT_VERIFY_H
#define AX_DISPATCH_ATTEMPT_VERIFY_H

#include "dispatch/attempt/attempt.h"

void verify_read_hand_off(struct attempt *a, const struct attempt_news *news);
void verify_read_consumer(struct attempt *a, const struct attempt_news *news);
void verify_read_stream(struct attempt *a, const struct attempt_news *news);
void verify_read_queue(struct attempt *a, const struct attempt_news *news);
void verify_read_termination(struct attempt *a, const struct attempt_news *news);
void verify_end_activity(struct attempt *a, const struct attempt_news *news);
void verify_lose(struct attempt *a, const struct attempt_news *news);
void verify_say_removed(struct attempt *a, const struct attempt_news *news);
void verify_say_unheard(struct attempt *a, const struct attempt_news *news);

/* It may have been heard of meanwhile: its ack wait is counted from now_ns (monotonic), unless the
 * server itself has said that it is over. */
void verify_forgive_silence(struct attempt *a, int64_t now_ns);
/* A number that changes when acks of the pool may have been missed. */
uint64_t verify_hearing(const struct pool *p);
/* Those of `needed` (ATTEMPT_IS_…) that are this file's and hold. */
unsigned verify_facts(const struct attempt *a, unsigned needed);
/* Should its hand-off not have been delivered, it is to be taken back: it has expired, its pool
 * rests, or it has lain there for as long as a worker would have had it. */
bool verify_wants_back(const struct attempt *a);

#endif
