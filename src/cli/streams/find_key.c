#include "cli/streams/find_key.h"

#include <string.h>

#include "cli/streams/pool_names.h"

/* As that of find_task: a task that moves meanwhile may be missed once. */
#define LOOKS 2

/* Text of this shape is an id in all likelihood; any other may be one that was made by hand. */
static bool has_id_shape(const char *text)
{
    size_t bytes = strlen(text);
    return name_is_task_id(text) && (bytes == TASK_ID_CHARS || bytes == 22);
}

static ax_err find_key(natsConnection *nc, const char *pool, const char *key, struct found *out,
                       struct problem *p)
{
    char id[TASK_ID_CHARS + 1];
    name_task_id(pool, key, strlen(key), id);
    return find_task(nc, pool, id, out, p);
}

static ax_err glance(struct find_glance *g, const struct pool_names *pools, const char *key,
                     struct pool_hits *hits, struct found *out, struct problem *p)
{
    ax_err err = AX_OK;
    for (int i = 1; err == AX_OK && i < pools->count; i++) {
        char id[TASK_ID_CHARS + 1];
        struct found f;
        name_task_id(pools->list[i], key, strlen(key), id);
        err = find_glance(g, pools->list[i], id, &f, p);
        if (err != AX_OK || f.state == TASK_UNKNOWN)
            continue;
        pool_names_hit(hits, pools->list[i]);
        *out = f;
    }
    return err;
}

/* In all pools but the first, the default one. *out stays as it is when none has the key. */
static ax_err find_elsewhere(natsConnection *nc, const char *key, struct found *out,
                             struct problem *p)
{
    struct pool_names pools;
    struct pool_hits hits = {0};
    struct find_glance g;
    ax_err err = pool_names_read(nc, &pools, p);
    if (err == AX_OK)
        err = find_glance_begin(&g, nc, p);
    for (int i = 0; i < LOOKS && err == AX_OK && hits.count == 0; i++)
        err = glance(&g, &pools, key, &hits, out, p);
    pool_names_free(&pools);
    return err == AX_OK ? pool_names_only(&hits, key, p) : err;
}

static bool is_open(ax_err err, const struct found *f)
{
    return err == AX_OK && f->state == TASK_UNKNOWN;
}

ax_err find_key_or_id(natsConnection *nc, const char *pool, const char *text, struct found *out,
                      struct problem *p)
{
    /* What has the shape of an id is tried as one first: AX prints ids, a key of that shape is
     * found right after. */
    bool id_shape = has_id_shape(text);
    *out = (struct found){.max_retry = -1};
    ax_err err = id_shape ? find_task(nc, pool, text, out, p) : AX_OK;
    if (is_open(err, out))
        err = find_key(nc, pool != NULL ? pool : DEFAULT_POOL, text, out, p);
    if (is_open(err, out) && pool == NULL)
        err = find_elsewhere(nc, text, out, p);
    if (!is_open(err, out) || id_shape || !name_is_task_id(text))
        return err;
    struct found by_id;
    err = find_task(nc, pool, text, &by_id, p);
    if (err == AX_OK && by_id.state != TASK_UNKNOWN)
        *out = by_id;
    return err;
}
