#include "cli/streams/pool_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/streams/stored_subjects.h"

static ax_err add(struct pool_names *n, const char *name, struct problem *p)
{
    void *grown = realloc(n->list, (size_t)(n->count + 1) * sizeof(*n->list));
    if (grown == NULL)
        return problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    n->list = grown;
    snprintf(n->list[n->count++], sizeof(*n->list), "%s", name);
    return AX_OK;
}

static ax_err add_subject(void *arg, const char *subject, struct problem *p)
{
    const char *name = subject + strlen(POOLS_PREFIX);
    if (!name_is_valid(name) || strcmp(name, DEFAULT_POOL) == 0)
        return AX_OK;
    return add(arg, name, p);
}

ax_err pool_names_read(natsConnection *nc, struct pool_names *out, struct problem *p)
{
    *out = (struct pool_names){0};
    ax_err err = add(out, DEFAULT_POOL, p);
    return err != AX_OK
               ? err
               : stored_subjects(nc, STREAM_POOLS, POOLS_PREFIX ">", add_subject, out, NULL, p);
}

void pool_names_free(struct pool_names *n)
{
    free(n->list);
    *n = (struct pool_names){0};
}

void pool_names_hit(struct pool_hits *h, const char *pool)
{
    size_t used = strlen(h->names);
    snprintf(h->names + used, sizeof(h->names) - used, "%s%s", h->count > 0 ? ", " : "", pool);
    h->count++;
}

ax_err pool_names_only(const struct pool_hits *h, const char *text, struct problem *p)
{
    if (h->count <= 1)
        return AX_OK;
    return problem_set(p, AX_E_INVALID,
                       "%.128s: %d pools have this key (%s): choose one with --pool", text,
                       h->count, h->names);
}

static ax_err look_in(natsConnection *nc, pool_names_look look, const char *key, const char *pool,
                      struct pool_hits *hits, struct stored *out, struct problem *p)
{
    struct stored s = {0};
    ax_err err = look(nc, pool, key, &s, p);
    if (err == AX_OK) {
        stored_clear(out);
        *out = s;
        pool_names_hit(hits, pool);
    }
    return err == AX_E_NOT_FOUND ? AX_OK : err;
}

ax_err pool_names_find(natsConnection *nc, pool_names_look look, const char *key,
                       struct stored *out, struct problem *p)
{
    struct pool_names pools;
    struct pool_hits hits = {0};
    *out = (struct stored){0};
    ax_err err = look_in(nc, look, key, DEFAULT_POOL, &hits, out, p);
    if (err != AX_OK || hits.count > 0)
        return err;
    err = pool_names_read(nc, &pools, p);
    for (int i = 1; i < pools.count && err == AX_OK; i++)
        err = look_in(nc, look, key, pools.list[i], &hits, out, p);
    pool_names_free(&pools);
    if (err == AX_OK)
        err = hits.count > 0 ? pool_names_only(&hits, key, p) : AX_E_NOT_FOUND;
    return err;
}
