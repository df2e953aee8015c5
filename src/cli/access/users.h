/* The users of a configuration: AX's own, and those of each team. Pure. */
#ifndef AX_CLI_ACCESS_USERS_H
#define AX_CLI_ACCESS_USERS_H

#include "cli/access/rights.h"

#define USERS_VARIABLE_MAX_CHARS (sizeof("AX_PASSWORD_") + RIGHTS_USER_MAX_CHARS)

/* Makes the users of these teams: <team>-producer, <team>-<pool> or <team>-worker, and in a single
 * account without the team's name; then ingress, dispatch and operator. *users is the caller's to
 * free, borrows from teams, and is NULL on error. AX_E_INVALID: two users would have one name, p
 * says which. AX_E_NOMEM. */
ax_err users_make(const struct team *teams, int team_count, bool single, struct user **users,
                  int *count, struct problem *p);

/* The server's variable for this user's password: AX_PASSWORD_<USER>, into out. */
void users_variable(const struct user *u, char out[USERS_VARIABLE_MAX_CHARS]);

#endif
