#include "dispatch/fair/order_slot.h"

#include <stdlib.h>
#include <utlist.h>

#include "dispatch/attempt/attempt.h"
#include "dispatch/fair/group_queue.h"
#include "dispatch/pool/pool.h"

static bool is_before(const struct order_slot *a, const struct order_slot *b)
{
    return a->retry != b->retry ? a->retry : a->seq < b->seq;
}

/* First attempts mostly go to the end, retries near the beginning: each is looked for from there,
 * so both find their place at once. */
static void insert(struct order_slot *s)
{
    struct order_slot **list = &s->group_queue->order.slots, *at;
    if (s->retry) {
        at = *list;
        while (at != NULL && is_before(at, s))
            at = at->next;
        DL_PREPEND_ELEM(*list, at, s); /* at NULL: at the end */
    } else {
        at = *list != NULL ? (*list)->prev : NULL; /* the last one */
        while (at != NULL && is_before(s, at))
            at = at != *list ? at->prev : NULL;
        DL_APPEND_ELEM(*list, at, s); /* at NULL: at the beginning */
    }
}

struct order_slot *order_slot_put(struct group_queue *gq, uint64_t seq, bool retry)
{
    struct queue *q = gq->queue;
    struct order_slot *s = NULL;
    HASH_FIND(hh, q->slots, &seq, sizeof(seq), s);
    if (s == NULL) {
        s = calloc(1, sizeof(*s));
        if (s == NULL)
            return NULL;
        s->seq = seq;
        s->retry = retry;
        s->group_queue = gq;
        HASH_ADD(hh, q->slots, seq, sizeof(s->seq), s);
        insert(s);
    }
    s->rebuild = q->pool->order.rebuilds;
    return s;
}

void order_slot_revive(struct order_slot *s)
{
    if (!s->ended)
        return;
    s->ended = false;
    insert(s);
}

void order_slot_end(struct order_slot *s)
{
    s->attempt = NULL;
    if (s->group_queue->queue->pool->order.rebuild == NULL) {
        order_slot_free(s);
        return;
    }
    DL_DELETE(s->group_queue->order.slots, s);
    s->ended = true;
}

void order_slot_free(struct order_slot *s)
{
    HASH_DEL(s->group_queue->queue->slots, s);
    if (!s->ended)
        DL_DELETE(s->group_queue->order.slots, s);
    free(s);
}

void order_slot_tidy(struct queue *q)
{
    struct order_slot *s, *next;
    HASH_ITER(hh, q->slots, s, next) {
        if (s->ended || (s->attempt == NULL && s->rebuild != q->pool->order.rebuilds))
            order_slot_free(s);
    }
}

void order_slot_clear(struct queue *q)
{
    struct order_slot *s, *next;
    HASH_ITER(hh, q->slots, s, next) {
        if (s->attempt != NULL)
            s->attempt->turn.slot = NULL;
        order_slot_free(s);
    }
}
