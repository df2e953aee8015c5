#include "dispatch/fair/order_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "bus/pipeline_get.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/groups.h"
#include "dispatch/fair/order_slot.h"
#include "dispatch/fair/pending_retry.h"
#include "dispatch/pool/pool.h"

#define WAIT_MS 3000
#define STILL_NS 2000000000LL /* without any change, then it is checked */
#define CHECKS_MAX 64         /* under way, in a pool */

/* Names what it asks about instead of pointing to it: all of that may be gone when the answer
 * comes. */
struct check {
    struct pool *pool;
    uint32_t leading; /* pool->order.led_rebuilds: tells one leadership from another */
    char priority[NAME_MAX_CHARS + 1];
    char group[GROUP_MAX_BYTES + 1];
    char id[TASK_ID_CHARS + 1]; /* of a pending retry; "": about a queue message, */
    uint64_t seq;               /* with this sequence */
};

/* NULL: it is gone, or the pool is not led any more, or again. */
static struct group_queue *group_queue_in(const struct check *c)
{
    struct pool *p = c->pool;
    const struct queue *q = queue_of(p, c->priority);
    struct group *g = NULL;
    HASH_FIND_STR(p->groups, c->group, g);
    if (!p->lead.led || p->order.led_rebuilds != c->leading || q == NULL || g == NULL)
        return NULL;
    return group_queue_of(g, q);
}

static void forget_retry(struct group_queue *gq, const struct check *c)
{
    const struct attempt *a = NULL;
    HASH_FIND(by_id, c->pool->by_id, c->id, strlen(c->id), a);
    if (a == NULL) /* else it has arrived meanwhile */
        pending_retry_end(gq, c->id);
}

static void forget_slot(struct group_queue *gq, const struct check *c)
{
    struct order_slot *s = NULL;
    HASH_FIND(hh, gq->queue->slots, &c->seq, sizeof(c->seq), s);
    if (s != NULL && s->attempt == NULL && !s->ended)
        order_slot_free(s);
}

static void conclude(struct check *c, bool gone)
{
    struct group_queue *gq = group_queue_in(c);
    c->pool->order.checks--;
    if (gq != NULL && gone && c->id[0] != '\0')
        forget_retry(gq, c);
    else if (gq != NULL && gone)
        forget_slot(gq, c);
    if (gq != NULL)
        ordered_release(gq);
    free(c);
}

static void on_queue_read(void *arg, ax_err err, const struct stored_msg *found)
{
    (void)found;
    conclude(arg, err == AX_E_NOT_FOUND);
}

/* No longer in AX_LATER: it may have moved to its queue. */
static void on_later_read(void *arg, ax_err err, const struct stored_msg *found)
{
    struct check *c = arg;
    (void)found;
    char subject[SUBJECT_MAX_CHARS];
    const struct queue *q = queue_of(c->pool, c->priority);
    name_subject(subject, "queue", c->priority, c->pool->name, c->id);
    if (err != AX_E_NOT_FOUND || q == NULL ||
        pipeline_get(c->pool->dispatch->pipeline, q->stream, subject, 0, WAIT_MS, on_queue_read,
                     c) != AX_OK)
        conclude(c, false);
}

static ax_err ask(struct check *c, const struct group_queue *gq)
{
    struct pipeline *pl = c->pool->dispatch->pipeline;
    const struct pending_retry *retry = pending_retry_any(gq);
    const struct order_slot *first = gq->order.slots;
    char subject[SUBJECT_MAX_CHARS];
    if (retry != NULL) {
        snprintf(c->id, sizeof(c->id), "%s", retry->id);
        snprintf(subject, sizeof(subject), "ax.*.*.%s.%s", c->pool->name, c->id);
        return pipeline_get(pl, STREAM_LATER, subject, 0, WAIT_MS, on_later_read, c);
    }
    if (first == NULL || first->attempt != NULL)
        return AX_E_NOT_FOUND; /* it waits for nothing */
    c->seq = first->seq;
    return pipeline_get(pl, gq->queue->stream, NULL, c->seq, WAIT_MS, on_queue_read, c);
}

static void start(const struct group_queue *gq)
{
    struct pool *p = gq->queue->pool;
    struct check *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return; /* the next tick tries again */
    c->pool = p;
    c->leading = p->order.led_rebuilds;
    snprintf(c->priority, sizeof(c->priority), "%s", gq->queue->priority);
    snprintf(c->group, sizeof(c->group), "%s", gq->group->name);
    if (ask(c, gq) == AX_OK)
        p->order.checks++;
    else
        free(c);
}

static bool waits_for_arrival(const struct ordered_state *o)
{
    return o->released == 0 && (o->pending > 0 || (o->slots != NULL && o->slots->attempt == NULL));
}

void order_check_tick(struct pool *p)
{
    struct group *g, *next;
    struct group_queue *gq;
    int64_t now = loop_now_ns(p->dispatch->loop);
    if (!p->order.known)
        return;
    HASH_ITER(hh, p->groups, g, next) {
        LL_FOREACH(g->queues, gq) {
            if (waits_for_arrival(&gq->order) && now - gq->order.still_ns >= STILL_NS &&
                p->order.checks < CHECKS_MAX) {
                gq->order.still_ns = now;
                start(gq);
            }
        }
    }
}
