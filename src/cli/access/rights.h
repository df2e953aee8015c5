/* Who may do what with AX's subjects: the one table that `ax access`, the documentation
 * (docs/operating.md, "Permissions") and deploy/nats-accounts.conf are made of. Pure. */
#ifndef AX_CLI_ACCESS_RIGHTS_H
#define AX_CLI_ACCESS_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/access/team.h"
#include "task/inbox.h"

/* A set: a user may have several. */
enum rights_role {
    RIGHTS_INGRESS = 1,
    RIGHTS_DISPATCH = 2,
    RIGHTS_OPERATOR = 4, /* everything in its account: no row */
    RIGHTS_PRODUCER = 8,
    RIGHTS_WORKER = 16,
    RIGHTS_CANCEL = 32, /* beside RIGHTS_PRODUCER */
};

enum rights_way { RIGHTS_PUBLISH, RIGHTS_SUBSCRIBE };

/* How a right comes into the account of a team. */
enum rights_export {
    RIGHTS_OWN,            /* not at all: it is the matter of its own account */
    RIGHTS_SERVICE,        /* a service of AX that answers once or not at all */
    RIGHTS_SERVICE_STREAM, /* a service of AX that may answer a request several times */
    RIGHTS_STREAM,         /* what AX publishes */
};

struct right {
    unsigned role; /* of enum rights_role; one of them is enough */
    enum rights_way way;
    enum rights_export export;
    /* Placeholders: {inbox} the user's own inboxes, {answers} those where it answers; {pool},
     * {priority} each of them, {domain} JetStream's. */
    const char *subject;
};

/* As long as the inbox prefix of a user may be. */
#define RIGHTS_USER_MAX_CHARS (SUBJECT_INBOX_PREFIX_MAX - (sizeof(INBOX_PREFIX ".") - 1))
struct user {
    char name[RIGHTS_USER_MAX_CHARS + 1];
    unsigned roles;          /* of enum rights_role */
    const struct team *team; /* borrowed; NULL: AX's own */
    const char *pool;        /* borrowed; NULL: all pools of the team */
};

/* Everything that a configuration is printed from. All pointers are borrowed. */
struct setting {
    const struct team *teams;
    int team_count;
    const struct user *users;
    int user_count;
    bool single;           /* one account for all, instead of one a team */
    bool private_inbox;    /* inboxes of a team's user begin with _INBOX.<user>, else _INBOX */
    const char *domain;    /* JetStream's; "_": it has none */
    const char *pull_wait; /* how long a pull request may wait, as the server writes it: "2m" */
    const char *passwords; /* a file with them, which the server includes; NULL: none */
};

/* r, subject: valid during the call. */
typedef void (*rights_each_fn)(void *arg, const struct right *r, const char *subject);

/* Calls each with every subject that u may use in this way, in the order of the table. */
void rights_each(const struct setting *s, const struct user *u, enum rights_way way,
                 rights_each_fn each, void *arg);
/* Calls each with every subject that AX exports to t, and t imports. */
void rights_each_export(const struct setting *s, const struct team *t, rights_each_fn each,
                        void *arg);
/* How the inboxes of this user begin, into out[cap]. */
void rights_inbox(const struct setting *s, const struct user *u, char *out, size_t cap);

#endif
