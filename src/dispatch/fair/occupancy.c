/* What the groups of a pool hold of a queue that is full, told to ingress every 100 ms
 * (docs/design/groups.md, "Sharing a full queue"). The leader knows it, since it holds all that
 * waits while groups are there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/dispatch.h"
#include "dispatch/fair/groups.h"
#include "dispatch/fair/occupancy.h"
#include "dispatch/pool/pool.h"
#include "task/peer/congestion.h"

#define EVERY_MS 100
#define CONGESTED_NS 10000000000LL /* after the last refusal that was heard */

static int by_tasks(const void *left, const void *right)
{
    const struct congestion_group *a = left, *b = right;
    return (a->tasks < b->tasks) - (a->tasks > b->tasks);
}

static void add(struct congestion_occupancy *h, const char *name, int64_t runs)
{
    if (runs <= 0)
        return;
    snprintf(h->groups[h->count].group, sizeof(h->groups[0].group), "%s", name);
    h->groups[h->count++].tasks = (uint32_t)(runs < UINT32_MAX ? runs : UINT32_MAX);
}

static void tell(struct queue *q)
{
    struct pool *p = q->pool;
    struct group *g, *next;
    char subject[SUBJECT_MAX_CHARS];
    struct congestion_occupancy h = {
        .groups = calloc(HASH_COUNT(p->groups) + 1, sizeof(*h.groups))};
    size_t bytes;
    if (h.groups == NULL)
        return; /* without it the queue is first come, first served */
    add(&h, "", (int64_t)HASH_CNT(by_seq, q->attempts) - q->grouped);
    HASH_ITER(hh, p->groups, g, next) {
        const struct group_queue *l = group_queue_of(g, q);
        add(&h, g->name, l != NULL ? l->attempts : 0);
    }
    if (h.count > CONGESTION_GROUPS_MAX) {
        qsort(h.groups, h.count, sizeof(*h.groups), by_tasks);
        for (size_t i = CONGESTION_GROUPS_MAX; i < h.count; i++)
            h.others += h.groups[i].tasks;
        h.count = CONGESTION_GROUPS_MAX;
    }
    uint8_t *data = congestion_pack_occupancy(&h, &bytes);
    snprintf(subject, sizeof(subject), CONGESTION_OCCUPANCY_PREFIX "%s.%s", q->priority, p->name);
    if (data != NULL)
        wire_publish(p->dispatch->wire, subject, data, bytes);
    free(data);
    free(h.groups);
}

static void on_timer(void *arg)
{
    struct pool *p = arg;
    int64_t now = loop_now_ns(p->dispatch->loop);
    bool pressed = false;
    for (int i = 0; i < p->queue_count; i++) {
        struct queue *q = p->queues[i];
        if (q->congested_until_ns <= now)
            continue;
        pressed = true;
        if (p->lead.ready && !p->lead.resting && queue_holds_all(q))
            tell(q);
    }
    if (pressed)
        loop_timer_start(p->dispatch->loop, &p->occupancy_timer, EVERY_MS, on_timer, p);
}

void occupancy_on_refused(struct pool *p, const char *priority)
{
    struct queue *q = p->lead.led ? queue_of(p, priority) : NULL;
    if (q == NULL)
        return;
    q->congested_until_ns = loop_now_ns(p->dispatch->loop) + CONGESTED_NS;
    if (!loop_timer_is_running(&p->occupancy_timer))
        loop_timer_start(p->dispatch->loop, &p->occupancy_timer, 0, on_timer, p);
}
