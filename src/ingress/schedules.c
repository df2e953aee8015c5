#include "ingress/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/log.h"
#include "bus/pipeline_get.h"
#include "ingress/ingress.h"
#include "ingress/pools.h"
#include "ingress/queue/pool_share.h"

#define TICK_MS 1000
#define LOOKS_PER_TICK 50
#define LOOKS_WHEN_FULL 500
#define GET_WAIT_MS 3000

struct schedule_pool {
    char pool[NAME_MAX_CHARS + 1];
    int64_t schedules;
    UT_hash_handle hh;
};

struct schedule {
    struct schedule *prev, *next; /* looked for longest ago first */
    struct schedules *all;
    struct schedule_pool *pool;
    char id[TASK_ID_CHARS + 1];
    bool looking;
    bool seen; /* while it was looked for */
    UT_hash_handle hh;
};

struct schedules {
    struct ingress *ing;
    struct schedule *table, *list;
    struct schedule_pool *pools;
    struct loop_timer timer;
};

static struct schedule_pool *find_pool(const struct schedules *s, const char *pool)
{
    struct schedule_pool *p;
    HASH_FIND_STR(s->pools, pool, p);
    return p;
}

static struct schedule_pool *put_pool(struct schedules *s, const char *pool)
{
    struct schedule_pool *p = find_pool(s, pool);
    if (p == NULL && (p = calloc(1, sizeof(*p))) != NULL) {
        snprintf(p->pool, sizeof(p->pool), "%s", pool);
        HASH_ADD_STR(s->pools, pool, p);
    }
    return p;
}

void schedules_saw(struct schedules *s, const char *pool, const char *id)
{
    struct schedule *one;
    HASH_FIND_STR(s->table, id, one);
    if (one != NULL) {
        one->seen = true;
        return;
    }
    struct schedule_pool *p = put_pool(s, pool);
    one = p != NULL ? calloc(1, sizeof(*one)) : NULL;
    if (one == NULL) /* it is not counted: one more may be stored */
        return;
    one->all = s;
    one->pool = p;
    snprintf(one->id, sizeof(one->id), "%s", id);
    p->schedules++;
    HASH_ADD_STR(s->table, id, one);
    DL_APPEND(s->list, one);
}

static void cut(struct schedule *one)
{
    struct schedules *s = one->all;
    struct schedule_pool *p = one->pool;
    HASH_DEL(s->table, one);
    DL_DELETE(s->list, one);
    free(one);
    if (--p->schedules > 0)
        return;
    HASH_DEL(s->pools, p);
    free(p);
}

/* A schedule that was not there: removed, or not stored yet. */
static void on_looked(void *arg, ax_err err, const struct stored_msg *found)
{
    struct schedule *one = arg;
    (void)found;
    one->looking = false;
    if (err == AX_E_NOT_FOUND && !one->seen)
        cut(one);
}

static void look(struct schedule *one)
{
    struct schedules *s = one->all;
    char subject[SUBJECT_MAX_CHARS];
    snprintf(subject, sizeof(subject), "ax.later.*.%s.%s", one->pool->pool, one->id);
    one->seen = false;
    one->looking = pipeline_get(s->ing->pipe, STREAM_LATER, subject, 0, GET_WAIT_MS, on_looked,
                                one) == AX_OK;
    DL_DELETE(s->list, one);
    DL_APPEND(s->list, one);
}

static bool is_nearly_full(const struct schedules *s)
{
    return schedules_count(s) * 10 >= s->ing->later.max_schedules * 9;
}

static void on_timer(void *arg)
{
    struct schedules *s = arg;
    int64_t count = schedules_count(s);
    int64_t looks = is_nearly_full(s) ? LOOKS_WHEN_FULL : LOOKS_PER_TICK;
    looks = looks < count ? looks : count;
    for (int64_t i = 0; i < looks && s->ing->connected; i++) {
        if (!s->list->looking)
            look(s->list);
        else
            break; /* those behind it are being looked for, too */
    }
    metric_set(s->ing->counters.later.schedules, count);
    metric_set(s->ing->counters.later.schedules_limit, s->ing->later.max_schedules);
    loop_timer_start(s->ing->loop, &s->timer, TICK_MS, on_timer, s);
}

enum schedules_room schedules_room(const struct schedules *s, const char *pool,
                                   struct over_quota *e)
{
    const struct later *l = &s->ing->later;
    const struct schedule_pool *p = find_pool(s, pool);
    int64_t count = schedules_count(s), held = p != NULL ? p->schedules : 0;
    if (count >= l->max_schedules)
        return SCHEDULES_FULL;
    if (pools_count(s->ing->pools) < 2)
        return SCHEDULES_ROOM;
    int64_t limit = pool_share_limit(l->pool_share, l->max_schedules, count, 0);
    if (limit == POOL_SHARE_NO_LIMIT || held == 0 || held < limit)
        return SCHEDULES_ROOM;
    *e = (struct over_quota){.held = held, .share = limit};
    return SCHEDULES_OVER_SHARE;
}

int64_t schedules_count(const struct schedules *s)
{
    return HASH_COUNT(s->table);
}

ax_err schedules_start(struct schedules **out, struct ingress *ing)
{
    struct schedules *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return AX_E_NOMEM;
    s->ing = ing;
    *out = s;
    on_timer(s);
    return AX_OK;
}

json_t *schedules_json(const struct schedules *s, int64_t from, int64_t most)
{
    json_t *all = json_array();
    int64_t at = 0;
    for (const struct schedule *one = s->table; one != NULL && at < from + most;
         one = one->hh.next, at++) {
        if (at >= from)
            json_array_append_new(all, json_sprintf("%s.%s", one->pool->pool, one->id));
    }
    return all;
}
