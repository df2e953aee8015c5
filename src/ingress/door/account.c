#include "ingress/door/account.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/rate/bucket.h"
#include "task/names.h"

#define POOLS_MAX 4096 /* names seen; further ones share one entry */
#define KEPT_NS 10000000000LL

struct account_pool {
    char name[NAME_MAX_CHARS + 1];
    int64_t bytes, charges; /* held, and by how many */
    int64_t used_ns;
    struct bucket bucket;
    UT_hash_handle hh;
};

struct account {
    int64_t limit, bytes;
    double rate_per_s;
    struct account_pool *pools;
    struct account_pool others;
    int64_t swept_ns;
};

ax_err account_new(struct account **out, int64_t limit_bytes, int64_t rate_per_s)
{
    struct account *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return AX_E_NOMEM;
    a->limit = limit_bytes;
    a->rate_per_s = (double)rate_per_s;
    *out = a;
    return AX_OK;
}

/* ---- pools */

/* A second of its rate is there from the start. */
static void fill(struct account_pool *p, double rate_per_s, int64_t now_ns)
{
    bucket_init(&p->bucket, rate_per_s, rate_per_s > 1 ? rate_per_s : 1, now_ns);
    p->bucket.tokens = p->bucket.burst;
}

/* A name that nobody uses any more makes room for another one. */
static void sweep(struct account *a, int64_t now_ns)
{
    struct account_pool *p, *next;
    if (now_ns - a->swept_ns < KEPT_NS)
        return;
    a->swept_ns = now_ns;
    HASH_ITER(hh, a->pools, p, next) {
        if (p->charges == 0 && now_ns - p->used_ns >= KEPT_NS) {
            HASH_DEL(a->pools, p);
            free(p);
        }
    }
}

static struct account_pool *find(struct account *a, const char *name, size_t n, int64_t now_ns)
{
    struct account_pool *p = NULL;
    n = n > NAME_MAX_CHARS ? NAME_MAX_CHARS : n;
    HASH_FIND(hh, a->pools, name, n, p);
    if (p != NULL)
        return p;
    sweep(a, now_ns);
    if (HASH_COUNT(a->pools) < POOLS_MAX)
        p = calloc(1, sizeof(*p));
    if (p == NULL)
        return &a->others;
    memcpy(p->name, name, n);
    fill(p, a->rate_per_s, now_ns);
    HASH_ADD_KEYPTR(hh, a->pools, p->name, n, p);
    return p;
}

/* ---- taking and giving */

static enum account_verdict judge(const struct account *a, const struct account_pool *p,
                                  int64_t bytes)
{
    int64_t free_bytes = a->limit - a->bytes;
    if (a->bytes == 0)
        return ACCOUNT_TAKEN;
    if (bytes > free_bytes)
        return ACCOUNT_FULL;
    return p->bytes + bytes > free_bytes ? ACCOUNT_POOL_FULL : ACCOUNT_TAKEN;
}

static void hold(struct account *a, struct charge *c, int64_t bytes)
{
    c->bytes += bytes;
    c->pool->bytes += bytes;
    a->bytes += bytes;
}

enum account_verdict account_take(struct account *a, const char *pool, size_t n, int64_t bytes,
                                  int64_t now_ns, struct charge *c)
{
    struct account_pool *p = find(a, pool, n, now_ns);
    enum account_verdict v = judge(a, p, bytes);
    p->used_ns = now_ns;
    if (v == ACCOUNT_TAKEN && p != &a->others && bucket_take(&p->bucket, now_ns) == 0)
        v = ACCOUNT_TOO_FAST;
    if (v != ACCOUNT_TAKEN)
        return v;
    c->pool = p;
    p->charges++;
    hold(a, c, bytes);
    return ACCOUNT_TAKEN;
}

bool account_add(struct account *a, struct charge *c, int64_t bytes, int64_t submissions)
{
    bool alone = a->bytes == c->bytes;
    if (!alone && bytes > a->limit - a->bytes)
        return false;
    /* A batch goes when one token is there, and leaves a debt to be paid off by time. */
    c->pool->bucket.tokens -= (double)submissions;
    hold(a, c, bytes);
    return true;
}

void account_give(struct account *a, struct charge *c)
{
    if (c->pool == NULL)
        return;
    hold(a, c, -c->bytes);
    c->pool->charges--;
    c->pool = NULL;
}

int64_t account_bytes(const struct account *a)
{
    return a->bytes;
}
