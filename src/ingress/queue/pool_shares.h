/* Which pool holds how much of a bounded place (a queue, or AX_LATER), and whether it may have more
 * (docs/design/submitting.md, "Shares of pools"). What the server said of a pool last, plus what
 * this process has let in since, is the most that the pool can hold; it is asked again only when
 * that would refuse. Nothing is limited while fewer than two pools are known. Lock of the loop held
 * in every call. */
#ifndef AX_INGRESS_QUEUE_POOL_SHARES_H
#define AX_INGRESS_QUEUE_POOL_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/loop.h"
#include "ingress/queue/shares.h"

struct pool_held;
struct pool_shares;

enum pool_share {
    POOL_SHARE_ROOM,    /* it may have one more, which is counted as on its way */
    POOL_SHARE_OVER,    /* it holds its share */
    POOL_SHARE_UNREADY, /* the server is being asked: try again in a moment */
};

/* The place, as its owner sees it at the moment of the question. */
struct pool_shares_place {
    double share;
    int64_t bound, total; /* as in pool_share.h; total: the most that there can be */
    double weight;        /* a task counts for so many; 0: for one */
    bool fresh;           /* total is not older than a moment */
};

/* Asks the server how many tasks of pool are in the place, and calls pool_shares_heard once. Not
 * AX_OK: it could not ask, and calls nothing. */
typedef ax_err (*pool_shares_ask)(void *arg, const char *pool, struct pool_held *h);

/* loop: borrowed. fresh_ms: an answer is believed for so long, and asked for at most twice as
 * often. NULL: no memory. Lives as long as the process. */
struct pool_shares *pool_shares_new(struct loop *loop, int64_t fresh_ms, pool_shares_ask ask,
                                    void *arg);

/* May one more task of pool be stored? ROOM: *out is what pool_shares_settled wants (NULL: no
 * memory to count it). OVER: *e says what it holds and its share. */
enum pool_share pool_shares_take(struct pool_shares *s, const char *pool,
                                 const struct pool_shares_place *place, struct pool_held **out,
                                 struct over_quota *e);
/* What was let in was stored, or was not. h: may be NULL. */
void pool_shares_settled(struct pool_held *h, bool stored);
/* Let in and not settled yet, of all pools. */
int64_t pool_shares_on_their_way(const struct pool_shares *s);

/* The answer: err and, when AX_OK, the number. AX_E_NOT_FOUND: nobody counts them at the server. */
void pool_shares_heard(struct pool_held *h, ax_err err, int64_t tasks);

#endif
