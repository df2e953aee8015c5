/* What the actions of attempt_moves.h are in code: one function each, in the file that owns what it
 * touches. Loop's lock held; called by attempt.c only. */
#ifndef AX_DISPATCH_ATTEMPT_ATTEMPT_ACTIONS_H
#define AX_DISPATCH_ATTEMPT_ATTEMPT_ACTIONS_H

#include "dispatch/attempt/attempt.h"

typedef void attempt_action_fn(struct attempt *a, const struct attempt_news *news);

/* By enum attempt_action. */
extern attempt_action_fn *const attempt_actions[ATTEMPT_ACTION_COUNT];

#endif
