/* A team of `ax access --team`: its name, its pools, and what its users may do. Pure. */
#ifndef AX_CLI_ACCESS_TEAM_H
#define AX_CLI_ACCESS_TEAM_H

#include <stdbool.h>

#include "base/error.h"
#include "task/names.h"

#define TEAM_POOLS_MAX 64
#define TEAM_PRIORITIES_MAX 16
#define TEAM_ACCOUNT_AX "AX" /* the account of AX itself, which no team can be called */

typedef char team_name[NAME_MAX_CHARS + 1];

struct team {
    team_name name;
    team_name pools[TEAM_POOLS_MAX];
    int pool_count; /* 1 and up */
    team_name priorities[TEAM_PRIORITIES_MAX];
    int priority_count; /* 0: any */
    bool one_worker;    /* one user works all pools, instead of one a pool */
    bool workers_submit;
    bool may_cancel; /* the producer cancels tasks of the pools */
};

/* Reads "NAME:pools=a,b,priorities=high,low,workers=pool|team,workers-submit=yes|no,cancel=yes|no";
 * only pools must be given. text: borrowed, foreign. AX_E_INVALID: p says which part is wrong and
 * what is allowed; *t is then undefined. */
ax_err team_parse(struct team *t, const char *text, struct problem *p);

/* AX_E_INVALID: two of the teams have one name, or one pool; p names both. */
ax_err team_check_apart(const struct team *teams, int count, struct problem *p);

#endif
