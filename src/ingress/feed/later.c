#include "ingress/feed/later.h"

#include <stdio.h>

#include "bus/reader.h"
#include "ingress/ingress.h"
#include "ingress/pools.h"

#define FRESH_MS 1000
#define FRESH_NS (FRESH_MS * 1000000LL)
#define ASK_WAIT_MS 3000
#define NEAR 0.8 /* of the share: a stale reading is not believed */

void later_init(struct later *l)
{
    *l = (struct later){.max = STREAM_INFO_MAX_LATER,
                        .max_bytes = STREAM_INFO_MAX_LATER_BYTES,
                        .max_schedules = STREAM_INFO_MAX_SCHEDULES,
                        .pool_share = STREAM_INFO_POOL_SHARE};
}

static int64_t given(int64_t value, int64_t otherwise)
{
    return value >= 0 ? value : otherwise;
}

void later_learn(struct ingress *ing, const struct stream_info *info)
{
    struct later *l = &ing->later;
    l->messages = info->messages;
    l->bytes = info->bytes;
    l->max = given(info->max_later, STREAM_INFO_MAX_LATER);
    l->max_bytes = given(info->max_later_bytes, STREAM_INFO_MAX_LATER_BYTES);
    l->max_schedules = given(info->max_schedules, STREAM_INFO_MAX_SCHEDULES);
    stream_info_share(info->pool_share, STREAM_INFO_POOL_SHARE, &l->pool_share);
    l->heard_ns = loop_now_ns(ing->loop);
}

static void on_info(void *arg, ax_err err, const struct stream_info *info)
{
    struct ingress *ing = arg;
    ing->later.asking = false;
    if (err == AX_OK)
        later_learn(ing, info);
}

static void on_count(void *arg, ax_err err, uint64_t messages)
{
    pool_shares_heard(arg, err, (int64_t)messages);
}

static ax_err ask_pool(void *arg, const char *pool, struct pool_held *h)
{
    struct ingress *ing = arg;
    char filter[SUBJECT_MAX_CHARS];
    snprintf(filter, sizeof(filter), "ax.*.*.%s.>", pool); /* later, due */
    return reader_count(ing->pipe, STREAM_LATER, filter, ASK_WAIT_MS, on_count, h);
}

/* The fuller of tasks and bytes says how full it is, in tasks. A body that is large for its place
 * counts for several tasks where bytes are short. */
static void measure(const struct later *l, size_t bytes, struct pool_shares_place *place)
{
    double used = (double)(l->bytes + l->going_bytes);
    double by_bytes = l->max_bytes > 0 ? used / (double)l->max_bytes * (double)l->max : 0;
    int64_t tasks = (int64_t)(l->messages + l->going);
    place->total = tasks;
    place->weight = 1;
    if (by_bytes <= (double)tasks)
        return;
    double weight = (double)bytes / (double)l->max_bytes * (double)l->max;
    place->total = (int64_t)by_bytes;
    place->weight = weight > 1 ? weight : 1;
}

static enum later_room share(struct ingress *ing, const char *pool, size_t bytes,
                             struct pool_held **out, struct over_quota *e)
{
    struct later *l = &ing->later;
    int64_t age = loop_now_ns(ing->loop) - l->heard_ns;
    struct pool_shares_place place = {
        .share = l->pool_share, .bound = l->max, .fresh = l->heard_ns != 0 && age < FRESH_NS};
    measure(l, bytes, &place);
    if (!l->asking && age >= FRESH_NS / 2 &&
        (double)place.total > l->pool_share / 2 * (double)l->max) {
        l->asking = stream_info_get(ing->pipe, ing->loop, STREAM_LATER, ASK_WAIT_MS, on_info,
                                    ing) == AX_OK;
    }
    /* Others may have stored many meanwhile. */
    if (!place.fresh && (double)place.total >= NEAR * l->pool_share * (double)l->max)
        return LATER_UNREADY;
    switch (pool_shares_take(l->pools, pool, &place, out, e)) {
    case POOL_SHARE_OVER:
        return LATER_OVER_SHARE;
    case POOL_SHARE_UNREADY:
        return LATER_UNREADY;
    default:
        return LATER_ROOM;
    }
}

static enum later_room look(struct ingress *ing, const char *pool, size_t bytes,
                            struct pool_held **out, struct over_quota *e)
{
    struct later *l = &ing->later;
    if (l->messages + l->going >= (uint64_t)l->max)
        return LATER_FULL;
    if (l->max_bytes > 0 && l->bytes + l->going_bytes + bytes > (uint64_t)l->max_bytes)
        return LATER_FULL_BYTES;
    if (l->pool_share >= 1 || pools_count(ing->pools) < 2)
        return LATER_ROOM;
    if (l->pools == NULL)
        l->pools = pool_shares_new(ing->loop, FRESH_MS, ask_pool, ing);
    return l->pools == NULL ? LATER_ROOM : share(ing, pool, bytes, out, e);
}

enum later_room later_take(struct ingress *ing, const char *pool, size_t bytes,
                           struct later_place *out, struct over_quota *e)
{
    struct later_place place = {.taken = true, .bytes = bytes};
    enum later_room room = look(ing, pool, bytes, &place.held, e);
    *out = (struct later_place){0};
    if (room != LATER_ROOM)
        return room;
    ing->later.going++;
    ing->later.going_bytes += bytes;
    *out = place;
    return LATER_ROOM;
}

void later_settled(struct later *l, struct later_place *place, bool stored)
{
    if (!place->taken)
        return;
    pool_shares_settled(place->held, stored);
    l->going--;
    l->going_bytes -= place->bytes;
    if (stored) {
        l->messages++;
        l->bytes += place->bytes;
    }
    *place = (struct later_place){0};
}
