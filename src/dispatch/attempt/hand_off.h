/* An attempt's way into AX_WORK: has it ended before (dead letters, records), the publish, and the
 * answers to a repeated hand-off (rule 6). Actions of attempt_moves.h, facts, and the clock of
 * Ax-Timeout. Loop's lock held. */
#ifndef AX_DISPATCH_ATTEMPT_HAND_OFF_H
#define AX_DISPATCH_ATTEMPT_HAND_OFF_H

#include "bus/pipeline_get.h"
#include "dispatch/attempt/attempt.h"

/* Those of `needed` (ATTEMPT_IS_…) that are this file's and hold. */
unsigned hand_off_facts(const struct attempt *a, unsigned needed);

void hand_off_read_dead(struct attempt *a, const struct attempt_news *news);
void hand_off_catch_up(struct attempt *a, const struct attempt_news *news);
void hand_off_read_record(struct attempt *a, const struct attempt_news *news);
void hand_off_publish(struct attempt *a, const struct attempt_news *news);
void hand_off_begin(struct attempt *a, const struct attempt_news *news);
void hand_off_begin_again(struct attempt *a, const struct attempt_news *news);
void hand_off_revoke_older(struct attempt *a, const struct attempt_news *news);
void hand_off_give_back(struct attempt *a, const struct attempt_news *news);
void hand_off_put_back(struct attempt *a, const struct attempt_news *news);
void hand_off_nak_dead(struct attempt *a, const struct attempt_news *news);
void hand_off_limit_again(struct attempt *a, const struct attempt_news *news);

/* Its turn: demand (pull), a token and its place in line are taken, and it is off the staged list.
 */
void hand_off_start(struct attempt *a, struct pull *pull, int64_t now_ns);
/* It has run for ran_ms: starts the clock of its Ax-Timeout, if it has one. */
void hand_off_limit(struct attempt *a, int64_t ran_ms);
/* Its expiry has passed. */
bool hand_off_is_expired(const struct attempt *a);
/* found (NULL: none) is the dead letter of this very attempt. */
bool hand_off_is_own_dead_letter(const struct attempt *a, const struct stored_msg *found);
/* ax.revoke.<pool>.<id>: tells a worker that listens that attempts with a token below fence are
 * over. */
void hand_off_revoke(const struct attempt *a, uint64_t fence);

#endif
