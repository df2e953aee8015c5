/* How an attempt ends: write the next state, wait for the server's answer, ack the queue message,
 * and only then remove the hand-off (docs/design/attempts.md, "The order of steps"). Every step may
 * be repeated: writes carry a message id made of the queue message's identity (rule 2). Where a
 * step gets no usable answer the attempt is left to its lease, and when that comes back the steps
 * are repeated. What was decided stays: a worker's ack is not taken for silence later on.
 *
 * Actions of attempt_moves.h, and facts. Loop's lock held. */
#ifndef AX_DISPATCH_ATTEMPT_ENDING_H
#define AX_DISPATCH_ATTEMPT_ENDING_H

#include "dispatch/attempt/attempt.h"

/* Those of `needed` (ATTEMPT_IS_…) that are this file's and hold. */
unsigned ending_facts(const struct attempt *a, unsigned needed, const struct attempt_news *news);

void ending_decide(struct attempt *a, const struct attempt_news *news);
void ending_record(struct attempt *a, const struct attempt_news *news);
void ending_read_content(struct attempt *a, const struct attempt_news *news);
void ending_write_retry(struct attempt *a, const struct attempt_news *news);
void ending_write_dead_letter(struct attempt *a, const struct attempt_news *news);
void ending_read_place(struct attempt *a, const struct attempt_news *news);
void ending_count_next(struct attempt *a, const struct attempt_news *news);
void ending_note_written(struct attempt *a, const struct attempt_news *news);
void ending_release(struct attempt *a, const struct attempt_news *news);
void ending_ack_done(struct attempt *a, const struct attempt_news *news);
void ending_ack_dropped(struct attempt *a, const struct attempt_news *news);
void ending_remove_hand_off(struct attempt *a, const struct attempt_news *news);
void ending_revoke(struct attempt *a, const struct attempt_news *news);
void ending_tell_cancelled(struct attempt *a, const struct attempt_news *news);
void ending_tell_not_cancelled(struct attempt *a, const struct attempt_news *news);

#endif
