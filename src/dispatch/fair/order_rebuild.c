#include "dispatch/fair/order_rebuild.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "bus/reader.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/groups.h"
#include "dispatch/fair/order_slot.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/fair/pending_retry.h"
#include "dispatch/pool/pool.h"
#include "task/task_stored.h"

#define AGAIN_MS 250

struct order_rebuild {
    struct pool *pool;
    struct reader *reader; /* NULL: between two streams */
    int next;              /* 0: AX_LATER is read next; n: the pool's queue n - 1 */
};

static void start_timer(struct pool *p, int64_t delay_ms);

static void take(struct pool *p, const char *subject, uint64_t seq, natsMsg *msg)
{
    struct task_subject names;
    struct task t = {0};
    const char *ordered = NULL;
    if (natsMsgHeader_Get(msg, HDR_ORDERED, &ordered) != NATS_OK ||
        !name_parse_task_subject(subject, &names) ||
        task_stored_read_at(&t, subject, msg, NULL) != AX_OK)
        return;
    struct queue *q = queue_of(p, names.priority);
    struct group_queue *gq = q != NULL && t.ordered && t.group != NULL ? groups_queue(q, t.group)
                                                                       : NULL;
    if (gq != NULL && strcmp(names.stage, "queue") != 0)
        pending_retry_add(gq, names.id, false);
    else if (gq != NULL && order_slot_put(gq, seq, t.attempt > 1) == NULL)
        memory_fatal("the order of a group");
    task_clear(&t);
}

static void on_message(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    struct order_rebuild *b = arg;
    (void)time_ns;
    take(b->pool, subject, seq, msg);
}

/* What it has not seen does not exist any more. */
static void tidy(struct pool *p)
{
    struct group *g, *next;
    struct group_queue *gq;
    for (int i = 0; i < p->queue_count; i++)
        order_slot_tidy(p->queues[i]);
    HASH_ITER(hh, p->groups, g, next) {
        LL_FOREACH(g->queues, gq)
            pending_retry_tidy(gq);
    }
}

static void finish(struct order_rebuild *b)
{
    struct pool *p = b->pool;
    p->order.rebuild = NULL;
    free(b);
    tidy(p);
    if (p->order.invalid)
        order_rebuild_start(p);
    else
        p->order.known = true;
    ordered_release_all(p);
}

static void on_end(void *arg, ax_err err, uint64_t last_seq);

static void read_next(struct order_rebuild *b)
{
    struct pool *p = b->pool;
    struct dispatch *d = p->dispatch;
    char filter[SUBJECT_MAX_CHARS];
    const char *stream = STREAM_LATER;
    struct reader_events events = {on_message, on_end, b};
    if (b->next > p->queue_count) {
        finish(b);
        return;
    }
    if (b->next == 0) {
        snprintf(filter, sizeof(filter), "ax.*.*.%s.>", p->name);
    } else {
        const struct queue *q = p->queues[b->next - 1];
        stream = q->stream;
        snprintf(filter, sizeof(filter), "ax.queue.%s.%s.>", q->priority, p->name);
    }
    b->next++;
    if (reader_start(&b->reader, d->pipeline, d->loop, stream, filter, 1, &events) != AX_OK) {
        p->order.rebuild = NULL;
        free(b);
        start_timer(p, AGAIN_MS);
    }
}

static void on_end(void *arg, ax_err err, uint64_t last_seq)
{
    (void)last_seq;
    struct order_rebuild *b = arg;
    b->reader = NULL;
    if (err != AX_OK)
        b->pool->order.invalid = true;
    read_next(b);
}

/* Not before AX_WORK is adopted: a retry moves from there to AX_LATER. */
static void on_timer(void *arg)
{
    struct pool *p = arg;
    if (p->order.rebuild != NULL || !p->lead.led)
        return;
    struct order_rebuild *b = p->lead.ready ? calloc(1, sizeof(*b)) : NULL;
    if (b == NULL) {
        start_timer(p, AGAIN_MS);
        return;
    }
    b->pool = p;
    p->order.rebuild = b;
    p->order.rebuilds++;
    p->order.invalid = false;
    read_next(b);
}

static void start_timer(struct pool *p, int64_t delay_ms)
{
    loop_timer_start(p->dispatch->loop, &p->order.timer, delay_ms, on_timer, p);
}

void order_rebuild_start(struct pool *p)
{
    bool first = p->order.rebuilds == p->order.led_rebuilds;
    if (p->order.rebuild == NULL && !loop_timer_is_running(&p->order.timer))
        start_timer(p, first ? 0 : AGAIN_MS);
}

void order_rebuild_stop(struct pool *p)
{
    struct order_rebuild *b = p->order.rebuild;
    loop_timer_stop(p->dispatch->loop, &p->order.timer);
    p->order.rebuild = NULL;
    if (b == NULL)
        return;
    if (b->reader != NULL)
        reader_cancel(b->reader);
    free(b);
}
