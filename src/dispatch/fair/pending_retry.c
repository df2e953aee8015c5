#include "dispatch/fair/pending_retry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/dispatch.h"
#include "dispatch/fair/group_queue.h"
#include "dispatch/pool/pool.h"

static struct pending_retry *find(const struct group_queue *gq, const char *id)
{
    struct pending_retry *r = NULL;
    HASH_FIND_STR(gq->order.pending_retries, id, r);
    return r;
}

static void forget(struct group_queue *gq, struct pending_retry *r)
{
    gq->order.pending -= !r->ended;
    HASH_DEL(gq->order.pending_retries, r);
    free(r);
}

void pending_retry_add(struct group_queue *gq, const char *id, bool written)
{
    struct pool *p = gq->queue->pool;
    struct pending_retry *r = find(gq, id);
    if (r == NULL) {
        r = calloc(1, sizeof(*r));
        if (r == NULL)
            memory_fatal("what holds up an ordered group");
        snprintf(r->id, sizeof(r->id), "%s", id);
        HASH_ADD_STR(gq->order.pending_retries, id, r);
        gq->order.pending++;
        gq->order.still_ns = loop_now_ns(p->dispatch->loop);
    } else if (r->ended && written) {
        r->ended = false;
        gq->order.pending++;
    }
    r->rebuild = p->order.rebuilds;
}

void pending_retry_end(struct group_queue *gq, const char *id)
{
    struct pending_retry *r = find(gq, id);
    if (r == NULL || r->ended)
        return;
    if (gq->queue->pool->order.rebuild == NULL) {
        forget(gq, r);
        return;
    }
    r->ended = true;
    gq->order.pending--;
}

bool pending_retry_exists(const struct group_queue *gq, const char *id)
{
    const struct pending_retry *r = find(gq, id);
    return r != NULL && !r->ended;
}

const struct pending_retry *pending_retry_any(const struct group_queue *gq)
{
    for (const struct pending_retry *r = gq->order.pending_retries; r != NULL; r = r->hh.next) {
        if (!r->ended)
            return r;
    }
    return NULL;
}

void pending_retry_tidy(struct group_queue *gq)
{
    struct pending_retry *r, *next;
    HASH_ITER(hh, gq->order.pending_retries, r, next) {
        if (r->ended || r->rebuild != gq->queue->pool->order.rebuilds)
            forget(gq, r);
    }
}

void pending_retry_clear(struct group_queue *gq)
{
    struct pending_retry *r, *next;
    HASH_ITER(hh, gq->order.pending_retries, r, next)
        forget(gq, r);
}
