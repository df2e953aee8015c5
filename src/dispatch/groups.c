#include "dispatch/groups.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/dispatch.h"
#include "dispatch/ordered.h"
#include "dispatch/pool.h"
#include "dispatch/run.h"

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
    return unanswered_are_due(&g->unanswered, &g->bucket, g->pool->answer_ns, now);
}

/* Into the ring or out of it, as it stands now. */
static void settle(struct line *l)
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
    for (struct line *l = g->lines; l != NULL; l = l->next)
        settle(l);
}

static void drop(struct group *g)
{
    loop_timer_stop(g->pool->dispatch->loop, &g->timer);
    HASH_DEL(g->pool->groups, g);
    while (g->lines != NULL) {
        struct line *l = g->lines;
        g->lines = l->next;
        turns_remove(&l->queue->turns, &l->turn);
        free(l);
    }
    free(g);
}

/* Nothing of it is left: it goes, a while later and when its bucket is full, since one made anew is
 * new to the turns and starts with a full one. */
static void release(struct group *g)
{
    if (g->runs > 0)
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
    if (g->runs == 0) {
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
    bucket_init(&g->bucket, s->group_rate, s->group_burst, p->led_ns);
    HASH_ADD_STR(p->groups, name, g);
    return g;
}

struct line *group_line(const struct group *g, const struct queue *q)
{
    struct line *l = g->lines;
    while (l != NULL && l->queue != q)
        l = l->next;
    return l;
}

static struct line *add_line_to(struct group *g, struct queue *q)
{
    struct line *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return NULL;
    l->queue = q;
    l->group = g;
    l->turn.weight = settings_weight(&g->pool->settings, g->name);
    l->next = g->lines;
    g->lines = l;
    return l;
}

static bool is_remembered(const struct group *g)
{
    for (const struct line *l = g->lines; l != NULL; l = l->next) {
        if (ordered_remembers(l))
            return true;
    }
    return false;
}

struct line *groups_line(struct queue *q, const char *group)
{
    struct group *g = get(q->pool, group);
    if (g == NULL)
        return NULL;
    struct line *l = group_line(g, q);
    if (l == NULL)
        l = add_line_to(g, q);
    if (g->runs == 0) {
        g->idle_ns = now_ns(g); /* something of it will be remembered now */
        release(g);
    }
    return l;
}

bool groups_join(struct run *r, const char *name)
{
    struct group *g = get(r->pool, name);
    if (g == NULL)
        return false;
    struct line *l = group_line(g, r->queue);
    if (l == NULL && (l = add_line_to(g, r->queue)) == NULL) {
        release(g);
        return false;
    }
    l->runs++;
    r->group = g;
    g->runs++;
    r->queue->grouped++;
    return true;
}

void groups_leave(struct run *r)
{
    struct group *g = r->group;
    if (g == NULL)
        return;
    groups_use_token(r);
    groups_ended(r);
    ordered_leave(r);
    r->group = NULL;
    group_line(g, r->queue)->runs--;
    r->queue->grouped--;
    if (--g->runs == 0) {
        g->idle_ns = now_ns(g);
        release(g);
    }
}

void groups_lead(struct pool *p)
{
    struct group *g, *tmp;
    HASH_ITER(hh, p->groups, g, tmp)
        bucket_init(&g->bucket, p->settings.group_rate, p->settings.group_burst, p->led_ns);
}

void groups_settings(struct pool *p)
{
    struct group *g, *tmp;
    const struct settings *s = &p->settings;
    for (int i = 0; i < p->queue_count; i++)
        p->queues[i]->plain.turn.weight = settings_weight(s, NULL);
    HASH_ITER(hh, p->groups, g, tmp) {
        bucket_set(&g->bucket, s->group_rate, s->group_burst, now_ns(g));
        for (struct line *l = g->lines; l != NULL; l = l->next)
            l->turn.weight = settings_weight(s, g->name);
        settle_all(g);
        release(g);
    }
}

/* ---- lines ---- */

void line_add(struct run *r, bool front)
{
    struct line *l = r->group != NULL ? group_line(r->group, r->queue) : &r->queue->plain;
    r->line = l;
    r->line_prev = front ? NULL : l->tail;
    r->line_next = front ? l->head : NULL;
    *(r->line_prev != NULL ? &r->line_prev->line_next : &l->head) = r;
    *(r->line_next != NULL ? &r->line_next->line_prev : &l->tail) = r;
    l->waiting++;
    settle(l);
}

void line_remove(struct run *r)
{
    struct line *l = r->line;
    if (l == NULL)
        return;
    *(r->line_prev != NULL ? &r->line_prev->line_next : &l->head) = r->line_next;
    *(r->line_next != NULL ? &r->line_next->line_prev : &l->tail) = r->line_prev;
    r->line = NULL;
    r->line_prev = r->line_next = NULL;
    l->waiting--;
    if (l->head == NULL)
        settle(l);
}

struct run *line_next(const struct queue *q)
{
    struct turn *t = turns_next(&q->turns);
    return t != NULL ? ((struct line *)((char *)t - offsetof(struct line, turn)))->head : NULL;
}

void line_take(struct run *r)
{
    struct group *g = r->group;
    turns_take(&r->queue->turns, &r->line->turn);
    line_remove(r);
    if (g == NULL)
        return;
    r->group_token = bucket_take(&g->bucket, now_ns(g)) != 0;
    g->unanswered.count += r->group_token;
    groups_began(r);
}

void groups_began(struct run *r)
{
    struct group *g = r->group;
    if (g == NULL || r->group_counted)
        return;
    r->group_counted = true;
    g->running++;
    settle_all(g);
}

void groups_ended(struct run *r)
{
    struct group *g = r->group;
    if (g == NULL || !r->group_counted)
        return;
    r->group_counted = false;
    bool was_full = !has_room(g);
    g->running--;
    if (was_full)
        settle_all(g);
}

void groups_use_token(struct run *r)
{
    struct group *g = r->group;
    if (g == NULL || !r->group_token)
        return;
    r->group_token = false;
    g->unanswered.count--;
    if (g->unanswered.since_ns != 0 && !answers_are_due(g, now_ns(g))) {
        settle_all(g);
        pool_pump(g->pool);
    }
}

void groups_return(struct run *r)
{
    struct group *g = r->group;
    if (g == NULL || !r->group_token)
        return;
    bucket_return(&g->bucket);
    groups_use_token(r);
    settle_all(g);
}
