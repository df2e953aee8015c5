#include "cli/access/users.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCER "producer"
#define WORKER "worker"
#define OWN_USERS 3 /* ingress, dispatch, operator */

struct making {
    struct user *list;
    int count;
    bool single;
    struct problem *p; /* set: a name was too long */
};

static void add(struct making *m, const struct team *t, const char *name, unsigned roles,
                const char *pool)
{
    struct user *u = &m->list[m->count++];
    *u = (struct user){.roles = roles, .team = t, .pool = pool};
    bool prefixed = t != NULL && !m->single;
    int chars = snprintf(u->name, sizeof(u->name), "%s%s%s", prefixed ? t->name : "",
                         prefixed ? "-" : "", name);
    if (chars >= (int)sizeof(u->name)) {
        problem_set(m->p, AX_E_INVALID,
                    "--team: the name of user %s-%s is too long, at most %d characters are "
                    "allowed; give the team or the pool a shorter one",
                    t->name, name, (int)sizeof(u->name) - 1);
    }
}

static void add_team(struct making *m, const struct team *t)
{
    unsigned producer = RIGHTS_PRODUCER | (t->may_cancel ? RIGHTS_CANCEL : 0);
    unsigned worker = RIGHTS_WORKER | (t->workers_submit ? RIGHTS_PRODUCER : 0);
    add(m, t, PRODUCER, producer, NULL);
    if (t->one_worker)
        add(m, t, WORKER, worker, NULL);
    for (int i = 0; !t->one_worker && i < t->pool_count; i++)
        add(m, t, t->pools[i], worker, t->pools[i]);
}

/* Names of users and of their variables: no two are the same. */
static ax_err check(const struct making *m, struct problem *p)
{
    char a[USERS_VARIABLE_MAX_CHARS], b[USERS_VARIABLE_MAX_CHARS];
    for (int i = 0; i < m->count; i++) {
        users_variable(&m->list[i], a);
        for (int j = 0; j < i; j++) {
            users_variable(&m->list[j], b);
            if (strcmp(a, b) == 0) {
                return problem_set(p, AX_E_INVALID,
                                   "--team: the users %s and %s would share the password %s; give "
                                   "the pool or the team another name",
                                   m->list[j].name, m->list[i].name, a);
            }
        }
    }
    return AX_OK;
}

ax_err users_make(const struct team *teams, int team_count, bool single, struct user **users,
                  int *count, struct problem *p)
{
    size_t room = OWN_USERS + (size_t)team_count * (TEAM_POOLS_MAX + 1);
    struct problem too_long = {0};
    struct making m = {.list = calloc(room, sizeof(*m.list)), .single = single, .p = &too_long};
    *users = NULL;
    *count = 0;
    if (m.list == NULL)
        return problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    for (int i = 0; i < team_count; i++)
        add_team(&m, &teams[i]);
    add(&m, NULL, "ingress", RIGHTS_INGRESS, NULL);
    add(&m, NULL, "dispatch", RIGHTS_DISPATCH, NULL);
    add(&m, NULL, "operator", RIGHTS_OPERATOR, NULL);
    ax_err err = too_long.err != AX_OK ? problem_set(p, too_long.err, "%s", too_long.text)
                                       : check(&m, p);
    if (err != AX_OK) {
        free(m.list);
        return err;
    }
    *users = m.list;
    *count = m.count;
    return AX_OK;
}

void users_variable(const struct user *u, char out[USERS_VARIABLE_MAX_CHARS])
{
    int n = snprintf(out, USERS_VARIABLE_MAX_CHARS, "AX_PASSWORD_");
    for (const char *c = u->name; *c != '\0'; c++)
        out[n++] = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    out[n] = '\0';
}
