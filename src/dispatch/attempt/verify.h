/* Verifying: AX_WORK is read before anything is concluded from silence (rules 3 and 7).
 *
 *   hand-off there, never delivered      it only waits: renew
 *   there, delivered, ack wait not over  renew
 *   there, delivered, ack wait over      timed out
 *   gone, AX_WORK recreated meanwhile    hand off again
 *   gone, queue message still stored     a worker finished it, or terminated it: AX_EVENTS says
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

#endif
