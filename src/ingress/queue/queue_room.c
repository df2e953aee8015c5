#include "ingress/queue/queue_room.h"

#include <math.h>

#include "bus/consumer_info.h"
#include "ingress/pools.h"
#include "ingress/queue/pool_share.h"
#include "ingress/queue/queue.h"

#define FRESH_MS 20
#define FRESH_NS (FRESH_MS * 1000000LL)
#define STALE_NS 100000000LL
#define NEAR 0.8        /* of the share: a stale reading is not believed */
#define UNHEARD_PART 50 /* of the bound: nor for more than this part of it */
#define OTHERS_MAX 16
#define ASK_AHEAD_NS 10000000LL
#define ASK_WAIT_MS 3000
/* A pool that was refused before it was known is known no more: room is made for it all the same.
 */
#define SHARED_NS 600000000000LL
#define SPILL_NS 500000000LL

static void on_consumer(void *arg, ax_err err, const struct consumer_info *info)
{
    pool_shares_heard(arg, err, err == AX_OK ? info->num_pending + info->num_ack_pending : 0);
}

static ax_err ask_pool(void *arg, const char *pool, struct pool_held *h)
{
    const struct queue *q = arg;
    return consumer_info_get(q->ing->pipe, q->ing->loop, q->p.stream, pool, ASK_WAIT_MS,
                             on_consumer, h);
}

/* The most that there can be: what left since the reading is not known. What other instances store
 * is seen in the sequences of our PubAcks, and guessed where ours are not answered yet. */
static int64_t total(const struct queue *q)
{
    const struct queue_fill *f = &q->fill;
    int64_t going = pool_shares_on_their_way(q->pools);
    int64_t seen = (int64_t)(f->last_seq - f->removed) + going;
    double ours = (double)(f->own - f->own_heard) + (double)going;
    int64_t guessed = (int64_t)((double)f->messages + ours * fmax(1, f->others));
    return seen > guessed ? seen : guessed;
}

bool queue_room_is_shared(const struct queue *q)
{
    return q->p.pool_share < 1 && q->p.max_msgs > 0 &&
           (pools_count(q->ing->pools) >= 2 ||
            (q->fill.shared_until_ns != 0 && loop_now_ns(q->ing->loop) < q->fill.shared_until_ns));
}

/* What was let in here since the reading. */
static int64_t unheard(const struct queue *q)
{
    return (int64_t)(q->fill.own - q->fill.own_heard) + pool_shares_on_their_way(q->pools);
}

/* Ahead of need: nobody waits while tasks leave as fast as they come, or come at a steady pace. */
static bool is_to_be_asked(const struct queue *q, int64_t age, int64_t most)
{
    double half = q->p.pool_share / 2 * (double)q->p.max_msgs;
    return age >= STALE_NS || (age >= ASK_AHEAD_NS && (double)most > half) ||
           (age >= STALE_NS / 2 && unheard(q) * UNHEARD_PART > q->p.max_msgs / 2);
}

/* As far as is known; others may have stored many meanwhile, as this instance is about to. */
static bool may_be_full(const struct queue *q, int64_t most)
{
    return (double)most >= NEAR * q->p.pool_share * (double)q->p.max_msgs ||
           unheard(q) * UNHEARD_PART > q->p.max_msgs;
}

enum pool_share queue_room_take(struct queue *q, const char *pool, struct pool_held **out,
                                struct over_quota *e)
{
    *out = NULL;
    if (!queue_room_is_shared(q))
        return POOL_SHARE_ROOM;
    int64_t now = loop_now_ns(q->ing->loop), age = now - q->fill.heard_ns;
    if (pools_count(q->ing->pools) >= 2)
        q->fill.shared_until_ns = now + SHARED_NS;
    if (q->pools == NULL)
        q->pools = pool_shares_new(q->ing->loop, FRESH_MS, ask_pool, q);
    if (q->pools == NULL)
        return POOL_SHARE_ROOM;
    const struct pool_shares_place place = {
        .share = q->p.pool_share,
        .bound = q->p.max_msgs,
        .total = total(q),
        .fresh = q->fill.heard_ns != 0 && age < FRESH_NS,
    };
    if (is_to_be_asked(q, age, place.total))
        queue_sample(q);
    if (age >= STALE_NS && may_be_full(q, place.total))
        return POOL_SHARE_UNREADY;
    return pool_shares_take(q->pools, pool, &place, out, e);
}

void queue_room_settled(struct queue *q, struct pool_held *h, bool stored, uint64_t seq)
{
    pool_shares_settled(h, stored);
    q->fill.own += stored;
    if (seq > q->fill.last_seq)
        q->fill.last_seq = seq;
}

void queue_room_asks(struct queue *q)
{
    q->fill.own_asked = q->fill.own;
}

/* How many are stored for each of ours, smoothed. */
static void learn_others(struct queue_fill *f, const struct stream_info *info)
{
    double all = (double)(info->last_seq - f->read_seq),
           ours = (double)(f->own_asked - f->own_heard);
    if (f->read_seq == 0 || info->last_seq < f->read_seq || ours < 1)
        return;
    double times = fmin(fmax(all / ours, 1), OTHERS_MAX);
    f->others = f->others == 0 ? times : (f->others + times) / 2;
}

void queue_room_learn(struct queue *q, const struct stream_info *info)
{
    struct queue_fill *f = &q->fill;
    learn_others(f, info);
    f->own_heard = f->own_asked;
    f->read_seq = info->last_seq;
    f->messages = info->messages;
    if (f->created_ns != info->created_ns || info->last_seq > f->last_seq)
        f->last_seq = info->last_seq;
    f->created_ns = info->created_ns;
    f->removed = info->last_seq - info->messages;
    f->heard_ns = loop_now_ns(q->ing->loop);
}

bool queue_room_spill_is_kept(const struct queue *q)
{
    const struct queue_fill *f = &q->fill;
    return q->spilling && f->spill_max_bytes > 0 && queue_room_is_shared(q) &&
           (double)f->spill_bytes >= q->p.pool_share * (double)f->spill_max_bytes;
}

void queue_room_spilled(struct queue *q, size_t bytes)
{
    q->fill.spill_bytes += (int64_t)bytes;
}

static void on_spill(void *arg, ax_err err, const struct stream_info *info)
{
    struct queue *q = arg;
    q->fill.spill_asking = false;
    if (err != AX_OK)
        return;
    q->fill.spill_bytes = (int64_t)info->bytes;
    q->fill.spill_max_bytes = info->max_bytes;
}

void queue_room_watch_spill(struct queue *q)
{
    struct queue_fill *f = &q->fill;
    int64_t now = loop_now_ns(q->ing->loop);
    if (f->spill_asking || (f->spill_asked_ns != 0 && now - f->spill_asked_ns < SPILL_NS))
        return;
    f->spill_asked_ns = now;
    f->spill_asking = stream_info_get(q->ing->pipe, q->ing->loop, STREAM_SPILL, ASK_WAIT_MS,
                                      on_spill, q) == AX_OK;
}
