#include "dispatch/fair/groups.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/attempt/attempt.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/pool/pool.h"

#define LINGER_NS 5000000000LL

static void on_timer(void *arg);
static bool is_remembered(const struct group *g);

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

/* Into the ring or out of it, as it stands now. */
static void settle(struct group_queue *l)
{
    struct group *g = l->group;
    bool may = l->head != NULL;
    if (may && g != NULL) {
        int64_t now = now_ns(g);
        may = has_room(g) && !answers_are_due(g, now);
        if (may && bucket_available(&g->bucket, now) < 1) {
            may = false;
            loop_timer_start_ns(g->pool->dispatch->loop, &g->timer, bucket_wait_ns(&g->bucket, now),
                                on_timer, g);
        }
    }
    if (may)
        turns_add(&l->queue->turns, &l->turn);
    else
        turns_remove(&l->queue->turns, &l->turn);
}

static void settle_all(struct group *g)
{
    for (struct group_queue *l = g->queues; l != NULL; l = l->next)
        settle(l);
}

static void drop(struct group *g)
{
    loop_timer_stop(g->pool->dispatch->loop, &g->timer);
    HASH_DEL(g->pool->groups, g);
    while (g->queues != NULL) {
        struct group_queue *l = g->queues;
        g->queues = l->next;
        turns_remove(&l->queue->turns, &l->turn);
        free(l);
    }
    free(g);
}

/* Nothing of it is left: it goes, a while later and when its bucket is full, since one made anew is
 * new to the turns and starts with a full one. */
static void release(struct group *g)
{
    if (g->attempts > 0)
        return;
    if (is_remembered(g)) {
        loop_timer_start_ns(g->pool->dispatch->loop, &g->timer, LINGER_NS, on_timer, g);
        return;
    }
    int64_t now = now_ns(g), wait_ns = g->idle_ns + LINGER_NS - now;
    /* writes down what is there */
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
    settle_all(g);
    pool_pump(p);
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
    /* What it has started before we led we do not know, so its bucket was empty then, as the
     * pool's; that of one that is not here for want of tasks has become full since. */
    g->idle_ns = now_ns(g);
    bucket_init(&g->bucket, s->group_rate, s->group_burst, p->lead.since_ns);
    HASH_ADD_STR(p->groups, name, g);
    return g;
}

struct group_queue *group_queue_of(const struct group *g, const struct queue *q)
{
    struct group_queue *l = g->queues;
    while (l != NULL && l->queue != q)
        l = l->next;
    return l;
}

static struct group_queue *add_line_to(struct group *g, struct queue *q)
{
    struct group_queue *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return NULL;
    l->queue = q;
    l->group = g;
    l->turn.weight = settings_weight(&g->pool->settings, g->name);
    l->next = g->queues;
    g->queues = l;
    return l;
}

static bool is_remembered(const struct group *g)
{
    for (const struct group_queue *l = g->queues; l != NULL; l = l->next) {
        if (ordered_remembers(l))
            return true;
    }
    return false;
}

struct group_queue *groups_queue(struct queue *q, const char *group)
{
    struct group *g = get(q->pool, group);
    if (g == NULL)
        return NULL;
    struct group_queue *l = group_queue_of(g, q);
    if (l == NULL)
        l = add_line_to(g, q);
    if (g->attempts == 0) {
        g->idle_ns = now_ns(g); /* something of it will be remembered now */
        release(g);
    }
    return l;
}

bool groups_join(struct attempt *r, const char *name)
{
    struct group *g = get(r->pool, name);
    if (g == NULL)
        return false;
    struct group_queue *l = group_queue_of(g, r->queue);
    if (l == NULL && (l = add_line_to(g, r->queue)) == NULL) {
        release(g);
        return false;
    }
    l->attempts++;
    r->turn.group = g;
    g->attempts++;
    r->queue->grouped++;
    return true;
}

void groups_leave(struct attempt *r)
{
    struct group *g = r->turn.group;
    if (g == NULL)
        return;
    groups_use_token(r);
    groups_ended(r);
    ordered_leave(r);
    r->turn.group = NULL;
    group_queue_of(g, r->queue)->attempts--;
    r->queue->grouped--;
    if (--g->attempts == 0) {
        g->idle_ns = now_ns(g);
        release(g);
    }
}

void groups_lead(struct pool *p)
{
    struct group *g, *tmp;
    HASH_ITER(hh, p->groups, g, tmp)
        bucket_init(&g->bucket, p->settings.group_rate, p->settings.group_burst, p->lead.since_ns);
}

void groups_settings(struct pool *p)
{
    struct group *g, *tmp;
    const struct settings *s = &p->settings;
    for (int i = 0; i < p->queue_count; i++)
        p->queues[i]->plain.turn.weight = settings_weight(s, NULL);
    HASH_ITER(hh, p->groups, g, tmp) {
        bucket_set(&g->bucket, s->group_rate, s->group_burst, now_ns(g));
        for (struct group_queue *l = g->queues; l != NULL; l = l->next)
            l->turn.weight = settings_weight(s, g->name);
        settle_all(g);
        release(g);
    }
}

/* ---- lines ---- */

void group_queue_add(struct attempt *r, bool front)
{
    struct group_queue *l = r->turn.group != NULL ? group_queue_of(r->turn.group, r->queue)
                                                  : &r->queue->plain;
    r->turn.queue = l;
    r->turn.prev = front ? NULL : l->tail;
    r->turn.next = front ? l->head : NULL;
    *(r->turn.prev != NULL ? &r->turn.prev->turn.next : &l->head) = r;
    *(r->turn.next != NULL ? &r->turn.next->turn.prev : &l->tail) = r;
    l->waiting++;
    settle(l);
}

void group_queue_remove(struct attempt *r)
{
    struct group_queue *l = r->turn.queue;
    if (l == NULL)
        return;
    *(r->turn.prev != NULL ? &r->turn.prev->turn.next : &l->head) = r->turn.next;
    *(r->turn.next != NULL ? &r->turn.next->turn.prev : &l->tail) = r->turn.prev;
    r->turn.queue = NULL;
    r->turn.prev = r->turn.next = NULL;
    l->waiting--;
    if (l->head == NULL)
        settle(l);
}

struct attempt *group_queue_next(const struct queue *q)
{
    struct turn *t = turns_next(&q->turns);
    return t != NULL
               ? ((struct group_queue *)((char *)t - offsetof(struct group_queue, turn)))->head
               : NULL;
}

void group_queue_take(struct attempt *r)
{
    struct group *g = r->turn.group;
    turns_take(&r->queue->turns, &r->turn.queue->turn);
    group_queue_remove(r);
    if (g == NULL)
        return;
    r->turn.token = bucket_take(&g->bucket, now_ns(g)) != 0;
    g->unanswered.count += r->turn.token;
    groups_began(r);
}

void groups_began(struct attempt *r)
{
    struct group *g = r->turn.group;
    if (g == NULL || r->turn.counted)
        return;
    r->turn.counted = true;
    g->running++;
    settle_all(g);
}

void groups_ended(struct attempt *r)
{
    struct group *g = r->turn.group;
    if (g == NULL || !r->turn.counted)
        return;
    r->turn.counted = false;
    bool was_full = !has_room(g);
    g->running--;
    if (was_full)
        settle_all(g);
}

void groups_use_token(struct attempt *r)
{
    struct group *g = r->turn.group;
    if (g == NULL || !r->turn.token)
        return;
    r->turn.token = false;
    g->unanswered.count--;
    if (g->unanswered.since_ns != 0 && !answers_are_due(g, now_ns(g))) {
        settle_all(g);
        pool_pump(g->pool);
    }
}

void groups_return(struct attempt *r)
{
    struct group *g = r->turn.group;
    if (g == NULL || !r->turn.token)
        return;
    bucket_return(&g->bucket);
    groups_use_token(r);
    settle_all(g);
}
