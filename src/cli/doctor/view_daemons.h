/* Reads which daemons there are, and what they told of themselves, into a view. Blocking. */
#ifndef AX_CLI_DOCTOR_VIEW_DAEMONS_H
#define AX_CLI_DOCTOR_VIEW_DAEMONS_H

#include <jansson.h>

#include "cli/doctor/view.h"

#define VIEW_DAEMONS_MAX 256

/* The dispatchers that have announced themselves (task/peer/presence.h). The errors of
 * stored_subjects; p says what is wrong. nc: borrowed. */
ax_err view_daemons_read_announced(natsConnection *nc, struct view *v, struct problem *p);
/* For stats_query_gather: every dispatcher that is known and at least one ingress and dispatcher
 * have answered. arg: a struct view. */
bool view_daemons_all_answered(void *arg, const json_t *answers);
/* Takes over what the daemons answered, those included that were not known. */
void view_daemons_read_stats(struct view *v, const json_t *answers);

#endif
