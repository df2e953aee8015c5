#include "dispatch/fair/group_queue.h"

#include <stddef.h>
#include <stdlib.h>
#include <utlist.h>

#include "dispatch/attempt/attempt.h"
#include "dispatch/fair/groups.h"
#include "dispatch/pool/pool.h"

struct group_queue *group_queue_of(const struct group *g, const struct queue *q)
{
    struct group_queue *gq;
    LL_SEARCH_SCALAR(g->queues, gq, queue, q);
    return gq;
}

struct group_queue *group_queue_make(struct group *g, struct queue *q)
{
    struct group_queue *gq = group_queue_of(g, q);
    if (gq != NULL)
        return gq;
    gq = calloc(1, sizeof(*gq));
    if (gq == NULL)
        return NULL;
    gq->queue = q;
    gq->group = g;
    gq->turn.weight = settings_weight(&g->pool->settings, g->name);
    LL_PREPEND(g->queues, gq);
    return gq;
}

void group_queue_settle(struct group_queue *gq)
{
    if (gq->head != NULL && (gq->group == NULL || groups_may_start(gq->group)))
        turns_add(&gq->queue->turns, &gq->turn);
    else
        turns_remove(&gq->queue->turns, &gq->turn);
}

void group_queue_add(struct attempt *a, bool front)
{
    struct group_queue *gq = a->turn.group != NULL ? group_queue_of(a->turn.group, a->queue)
                                                   : &a->queue->plain;
    a->turn.queue = gq;
    if (front)
        DL_PREPEND2(gq->head, a, turn.prev, turn.next);
    else
        DL_APPEND2(gq->head, a, turn.prev, turn.next);
    group_queue_settle(gq);
}

void group_queue_remove(struct attempt *a)
{
    struct group_queue *gq = a->turn.queue;
    if (gq == NULL)
        return;
    DL_DELETE2(gq->head, a, turn.prev, turn.next);
    a->turn.queue = NULL;
    if (gq->head == NULL)
        group_queue_settle(gq);
}

struct attempt *group_queue_next(const struct queue *q)
{
    struct turn *t = turns_next(&q->turns);
    if (t == NULL)
        return NULL;
    return ((struct group_queue *)((char *)t - offsetof(struct group_queue, turn)))->head;
}

void group_queue_take(struct attempt *a)
{
    turns_take(&a->queue->turns, &a->turn.queue->turn);
    group_queue_remove(a);
    groups_take_token(a);
    groups_began(a);
}
