#include "dispatch/fair/groups.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "dispatch/attempt/attempt.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"

#define LINGER_NS 5000000000LL /* a group is kept this long after its last attempt */

static void on_timer(void *arg);

static int64_t now_ns(const struct group *g)
{
    return loop_now_ns(g->pool->dispatch->loop);
}

static bool has_room(const struct group *g)
{
    int64_t most = g->pool->settings.group_concurrency;
    return most == 0 || g->running < most;
}

static bool answers_are_due(struct group *g, int64_t now)
{
    return unanswered_are_due(&g->unanswered, &g->bucket, g->pool->flow.answer_ns, now);
}

bool groups_may_start(struct group *g)
{
    int64_t now = now_ns(g), wait_ns = 0;
    if (!has_room(g))
        return false;
    if (bucket_available(&g->bucket, now) < 1)
        wait_ns = bucket_wait_ns(&g->bucket, now);
    else if (answers_are_due(g, now))
        wait_ns = unanswered_wait_ns(&g->unanswered, &g->bucket, g->pool->flow.answer_ns);
    if (wait_ns != 0 && wait_ns != INT64_MAX)
        loop_timer_start_ns(g->pool->dispatch->loop, &g->timer, wait_ns, on_timer, g);
    return wait_ns == 0;
}

static void settle(struct group *g)
{
    struct group_queue *gq;
    LL_FOREACH(g->queues, gq)
        group_queue_settle(gq);
}

/* ---- being known ---- */

/* Something of it is expected that has not arrived, so it must not be forgotten. */
static bool is_expected(const struct group *g)
{
    const struct group_queue *gq;
    LL_FOREACH(g->queues, gq) {
        if (ordered_remembers(gq))
            return true;
    }
    return false;
}

static void drop(struct group *g)
{
    struct group_queue *gq, *next;
    loop_timer_stop(g->pool->dispatch->loop, &g->timer);
    HASH_DEL(g->pool->groups, g);
    LL_FOREACH_SAFE(g->queues, gq, next) {
        turns_remove(&gq->queue->turns, &gq->turn);
        free(gq);
    }
    free(g);
}

/* Forgets a group that no attempt names, once LINGER_NS have passed and its bucket is full: made
 * anew, it is a newcomer to the turns and has a full bucket. */
static void release(struct group *g)
{
    if (g->attempts > 0)
        return;
    if (is_expected(g)) {
        loop_timer_start_ns(g->pool->dispatch->loop, &g->timer, LINGER_NS, on_timer, g);
        return;
    }
    int64_t now = now_ns(g), wait_ns = g->idle_ns + LINGER_NS - now;
    /* brings bucket.tokens up to date */
    bucket_set(&g->bucket, g->bucket.rate_per_s, g->bucket.burst, now);
    double missing = g->bucket.rate_per_s > 0 ? g->bucket.burst - g->bucket.tokens : 0;
    if (missing > 0 && missing / g->bucket.rate_per_s * 1e9 >= (double)wait_ns)
        wait_ns = (int64_t)(missing / g->bucket.rate_per_s * 1e9) + 1;
    if (wait_ns <= 0)
        drop(g);
    else
        loop_timer_start_ns(g->pool->dispatch->loop, &g->timer, wait_ns, on_timer, g);
}

static void on_timer(void *arg)
{
    struct group *g = arg;
    struct pool *p = g->pool;
    if (g->attempts == 0) {
        release(g);
        return;
    }
    settle(g);
    pump_soon(p);
}

static struct group *get(struct pool *p, const char *name)
{
    struct group *g = NULL;
    const struct settings *s = &p->settings;
    HASH_FIND_STR(p->groups, name, g);
    if (g != NULL)
        return g;
    g = calloc(1, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->pool = p;
    snprintf(g->name, sizeof(g->name), "%s", name);
    g->idle_ns = now_ns(g);
    /* What the group has started under the leader before is not known, so its bucket was empty when
     * we began to lead, as the pool's. A group that we have forgotten since had a full bucket, and
     * a bucket fills within the time that has passed. */
    bucket_init(&g->bucket, s->group_rate, s->group_burst, p->lead.since_ns);
    unanswered_init(&g->unanswered, p->lead.since_ns);
    HASH_ADD_STR(p->groups, name, g);
    return g;
}

struct group_queue *groups_queue(struct queue *q, const char *name)
{
    struct group *g = get(q->pool, name);
    if (g == NULL)
        return NULL;
    struct group_queue *gq = group_queue_make(g, q);
    if (g->attempts == 0) {
        g->idle_ns = now_ns(g);
        release(g); /* later, if nothing comes */
    }
    return gq;
}

bool groups_join(struct attempt *a, const char *name)
{
    struct group *g = get(a->pool, name);
    if (g == NULL)
        return false;
    struct group_queue *gq = group_queue_make(g, a->queue);
    if (gq == NULL) {
        release(g);
        return false;
    }
    gq->attempts++;
    a->turn.group = g;
    g->attempts++;
    a->queue->grouped++;
    return true;
}

void groups_leave(struct attempt *a)
{
    struct group *g = a->turn.group;
    if (g == NULL)
        return;
    groups_use_token(a);
    groups_ended(a);
    ordered_leave(a);
    a->turn.group = NULL;
    group_queue_of(g, a->queue)->attempts--;
    a->queue->grouped--;
    if (--g->attempts == 0) {
        g->idle_ns = now_ns(g);
        release(g);
    }
}

void groups_lead(struct pool *p)
{
    struct group *g, *next;
    HASH_ITER(hh, p->groups, g, next) {
        bucket_init(&g->bucket, p->settings.group_rate, p->settings.group_burst, p->lead.since_ns);
        unanswered_init(&g->unanswered, p->lead.since_ns);
    }
}

void groups_settings(struct pool *p)
{
    struct group *g, *next;
    struct group_queue *gq;
    const struct settings *s = &p->settings;
    for (int i = 0; i < p->queue_count; i++)
        p->queues[i]->plain.turn.weight = settings_weight(s, NULL);
    HASH_ITER(hh, p->groups, g, next) {
        bucket_set(&g->bucket, s->group_rate, s->group_burst, now_ns(g));
        LL_FOREACH(g->queues, gq)
            gq->turn.weight = settings_weight(s, g->name);
        settle(g);
        release(g);
    }
}

/* ---- tokens and places ---- */

void groups_take_token(struct attempt *a)
{
    struct group *g = a->turn.group;
    if (g == NULL)
        return;
    a->turn.token = bucket_take(&g->bucket, now_ns(g)) != 0;
    g->unanswered.count += a->turn.token;
}

void groups_use_token(struct attempt *a)
{
    struct group *g = a->turn.group;
    if (g == NULL || !a->turn.token)
        return;
    a->turn.token = false;
    unanswered_used(&g->unanswered, &g->bucket, g->pool->flow.answer_ns, now_ns(g));
    if (g->unanswered.waits && !answers_are_due(g, now_ns(g))) {
        settle(g);
        pump_soon(g->pool);
    }
}

void groups_return(struct attempt *a)
{
    struct group *g = a->turn.group;
    if (g == NULL || !a->turn.token)
        return;
    a->turn.token = false;
    bucket_return(&g->bucket);
    g->unanswered.count--;
    settle(g);
}

void groups_began(struct attempt *a)
{
    struct group *g = a->turn.group;
    if (g == NULL || a->turn.counted)
        return;
    a->turn.counted = true;
    g->running++;
    settle(g);
}

void groups_ended(struct attempt *a)
{
    struct group *g = a->turn.group;
    if (g == NULL || !a->turn.counted)
        return;
    a->turn.counted = false;
    bool was_full = !has_room(g);
    g->running--;
    if (was_full)
        settle(g);
}
