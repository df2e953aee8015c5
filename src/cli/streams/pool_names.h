/* The names of all pools, and in which of them a key was found: a task's id is made of its pool and
 * its key, so a key alone has to be looked for in one pool after the other. Blocking. */
#ifndef AX_CLI_STREAMS_POOL_NAMES_H
#define AX_CLI_STREAMS_POOL_NAMES_H

#include <nats/nats.h>

#include "base/error.h"
#include "cli/streams/stored.h"
#include "task/names.h"

struct pool_names {
    int count;
    char (*list)[NAME_MAX_CHARS + 1]; /* owned */
};
/* Those that were removed included, for as long as the bucket remembers them: they may have dead
 * letters. The default pool is the first. out is freed by pool_names_free in any case. nc:
 * borrowed. The errors of stored_subjects. */
ax_err pool_names_read(natsConnection *nc, struct pool_names *out, struct problem *p);
void pool_names_free(struct pool_names *n);

/* Zero-initialise. */
struct pool_hits {
    int count;
    char names[160]; /* "email, sms" */
};
void pool_names_hit(struct pool_hits *h, const char *pool);
/* AX_OK: there is one at most. AX_E_INVALID: the key text has several; p asks for --pool. */
ax_err pool_names_only(const struct pool_hits *h, const char *text, struct problem *p);

/* What looks for a key in one pool: AX_OK and *out, AX_E_NOT_FOUND, or another error. */
typedef ax_err (*pool_names_look)(natsConnection *nc, const char *pool, const char *key,
                                  struct stored *out, struct problem *p);
/* In the default pool, and if that has no such key in all others. *out is cleared by stored_clear
 * in any case. AX_E_NOT_FOUND: nowhere. AX_E_INVALID: several other pools have it, p names them. */
ax_err pool_names_find(natsConnection *nc, pool_names_look look, const char *key,
                       struct stored *out, struct problem *p);

#endif
