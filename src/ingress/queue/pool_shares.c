#include "ingress/queue/pool_shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ingress/queue/pool_share.h"
#include "task/names.h"

#define FORGET_NS 60000000000LL /* not asked for */
#define FORGET_ABOVE 64         /* pools are not swept below */
#define FEW 4                   /* tasks */
#define LAG_NS 200000000LL

struct pool_held {
    struct pool_shares *shares;
    char pool[NAME_MAX_CHARS + 1];
    int64_t base;                  /* as the server said last */
    uint64_t let_in, counted_from; /* let in, ever; those that base may not contain */
    uint64_t asked_from;           /* counted_from of the question under way */
    uint64_t let_in_asked;         /* let_in when the server was asked last */
    uint64_t let_in_heard;         /* and when base was asked for */
    double lately;                 /* see pool_share.h */
    int64_t may_have_left;         /* not counted in lately yet; see settle_left */
    int64_t may_have_left_ns;      /* since when */
    int64_t on_their_way;
    int64_t heard_ns, asked_ns, used_ns; /* monotonic; 0: never */
    bool asking;
    UT_hash_handle hh;
};

struct pool_shares {
    struct loop *loop;
    int64_t fresh_ns;
    pool_shares_ask ask;
    void *arg;
    struct pool_held *table;
    struct pool_held *last; /* found last */
    int64_t on_their_way, swept_ns;
};

struct pool_shares *pool_shares_new(struct loop *loop, int64_t fresh_ms, pool_shares_ask ask,
                                    void *arg)
{
    struct pool_shares *s = calloc(1, sizeof(*s));
    if (s != NULL) {
        *s = (struct pool_shares){
            .loop = loop, .fresh_ns = fresh_ms * 1000000, .ask = ask, .arg = arg};
    }
    return s;
}

/* Forgets pools that nobody submits to. */
static void sweep(struct pool_shares *s, int64_t now)
{
    struct pool_held *h, *next;
    if (HASH_COUNT(s->table) < FORGET_ABOVE || now - s->swept_ns < FORGET_NS)
        return;
    s->swept_ns = now;
    HASH_ITER(hh, s->table, h, next) {
        if (h->on_their_way > 0 || h->asking || now - h->used_ns < FORGET_NS)
            continue;
        HASH_DEL(s->table, h);
        free(h);
    }
    s->last = NULL;
}

static struct pool_held *put(struct pool_shares *s, const char *pool, int64_t now)
{
    struct pool_held *h = s->last;
    if (h != NULL && strcmp(h->pool, pool) == 0)
        return h;
    HASH_FIND_STR(s->table, pool, h);
    if (h == NULL) {
        sweep(s, now);
        h = calloc(1, sizeof(*h));
        if (h == NULL)
            return NULL;
        h->shares = s;
        snprintf(h->pool, sizeof(h->pool), "%s", pool);
        HASH_ADD_STR(s->table, pool, h);
    }
    return s->last = h;
}

static int64_t held(const struct pool_held *h)
{
    return h->base + (int64_t)(h->let_in - h->counted_from);
}

static void ask(struct pool_held *h, int64_t now)
{
    struct pool_shares *s = h->shares;
    if (h->asking || (h->asked_ns != 0 && now - h->asked_ns < s->fresh_ns / 2))
        return;
    h->asked_ns = now;
    /* What is on its way may be stored after the server has counted. */
    h->asked_from = h->let_in - (uint64_t)h->on_their_way;
    h->let_in_asked = h->let_in;
    h->asking = s->ask(s->arg, h->pool, h) == AX_OK;
}

/* Of what is on its way the server may have counted some, all or nothing, and its count lags behind
 * what it has stored, by more on a busy machine. All is taken for counted: then tasks at most seem
 * to have left that come to light a moment later. So what seems to have left is believed after a
 * while, if it has not come back. left: < 0: there are more than were let in here. */
static int64_t settle_left(struct pool_held *h, int64_t left, int64_t now)
{
    if (h->may_have_left == 0)
        h->may_have_left_ns = now;
    h->may_have_left = h->may_have_left + left > 0 ? h->may_have_left + left : 0;
    if (now - h->may_have_left_ns < LAG_NS)
        return 0;
    int64_t believed = h->may_have_left;
    h->may_have_left = 0;
    return believed;
}

void pool_shares_heard(struct pool_held *h, ax_err err, int64_t tasks)
{
    int64_t now = loop_now_ns(h->shares->loop);
    h->asking = false;
    if (err == AX_OK) {
        int64_t left = h->base + (int64_t)(h->let_in_asked - h->let_in_heard) - tasks;
        if (h->heard_ns != 0) {
            left = settle_left(h, left, now);
            h->lately = pool_share_lately(h->lately, now - h->heard_ns, left);
        }
        h->let_in_heard = h->let_in_asked;
        h->base = tasks;
        h->counted_from = h->asked_from;
    }
    if (err == AX_OK || err == AX_E_NOT_FOUND)
        h->heard_ns = now;
}

/* What is on its way may be counted twice: no more is said than a pool alone may hold. */
static void explain(const struct pool_held *h, const struct pool_shares_place *place, int64_t limit,
                    struct over_quota *e)
{
    int64_t alone = (int64_t)(place->share * (double)place->bound);
    int64_t most = held(h) < alone ? held(h) : alone;
    *e = (struct over_quota){.held = h->base > most ? h->base : most,
                             .share = limit,
                             .soon = h->lately > FEW || h->base < FEW};
}

enum pool_share pool_shares_take(struct pool_shares *s, const char *pool,
                                 const struct pool_shares_place *place, struct pool_held **out,
                                 struct over_quota *e)
{
    int64_t now = loop_now_ns(s->loop);
    struct pool_held *h = put(s, pool, now);
    *out = NULL;
    if (h == NULL)
        return POOL_SHARE_ROOM;
    int64_t limit = pool_share_limit(place->share, place->bound, place->total, h->lately);
    if (limit != POOL_SHARE_NO_LIMIT) {
        bool fresh = h->heard_ns != 0 && now - h->heard_ns < s->fresh_ns;
        /* A pool that is new here may hold tasks that another instance or a former run let in. */
        double weight = place->weight > 1 ? place->weight : 1;
        bool over = h->heard_ns == 0 || (held(h) > 0 && (double)held(h) * weight >= (double)limit);
        ask(h, now);
        if (over && !(fresh && place->fresh))
            return POOL_SHARE_UNREADY;
        if (over) {
            explain(h, place, limit, e);
            return POOL_SHARE_OVER;
        }
    }
    h->used_ns = now;
    h->let_in++;
    h->on_their_way++;
    s->on_their_way++;
    *out = h;
    return POOL_SHARE_ROOM;
}

void pool_shares_settled(struct pool_held *h, bool stored)
{
    if (h == NULL)
        return;
    h->on_their_way--;
    h->shares->on_their_way--;
    if (!stored)
        h->let_in--;
}

int64_t pool_shares_on_their_way(const struct pool_shares *s)
{
    return s->on_their_way;
}
