#include "dispatch/fair/occupancy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/dispatch.h"
#include "dispatch/fair/groups.h"
#include "dispatch/pool/pool.h"
#include "task/peer/congestion.h"

#define EVERY_MS 100
#define CONGESTED_NS 10000000000LL /* after the last refusal */

static int by_tasks(const void *left, const void *right)
{
    const struct congestion_group *a = left, *b = right;
    return (a->tasks < b->tasks) - (a->tasks > b->tasks);
}

static void add(struct congestion_occupancy *o, const char *name, int64_t tasks)
{
    if (tasks <= 0)
        return;
    snprintf(o->groups[o->count].group, sizeof(o->groups[0].group), "%s", name);
    o->groups[o->count++].tasks = (uint32_t)(tasks < UINT32_MAX ? tasks : UINT32_MAX);
}

/* The leader knows what the queue holds: it holds every message itself while groups take turns. */
static void publish(struct queue *q)
{
    struct pool *p = q->pool;
    struct group *g, *next;
    char subject[SUBJECT_MAX_CHARS];
    struct congestion_occupancy o = {
        .groups = calloc(HASH_COUNT(p->groups) + 1, sizeof(*o.groups))};
    size_t bytes;
    if (o.groups == NULL)
        return; /* until the next time the queue is first come, first served */
    add(&o, "", (int64_t)HASH_CNT(by_seq, q->attempts) - q->grouped);
    HASH_ITER(hh, p->groups, g, next) {
        const struct group_queue *gq = group_queue_of(g, q);
        add(&o, g->name, gq != NULL ? gq->attempts : 0);
    }
    if (o.count > CONGESTION_GROUPS_MAX) {
        qsort(o.groups, o.count, sizeof(*o.groups), by_tasks);
        for (size_t i = CONGESTION_GROUPS_MAX; i < o.count; i++)
            o.others += o.groups[i].tasks;
        o.count = CONGESTION_GROUPS_MAX;
    }
    uint8_t *data = congestion_pack_occupancy(&o, &bytes);
    snprintf(subject, sizeof(subject), CONGESTION_OCCUPANCY_PREFIX "%s.%s", q->priority, p->name);
    if (data != NULL)
        wire_publish(p->dispatch->wire, subject, data, bytes);
    free(data);
    free(o.groups);
}

static void on_timer(void *arg)
{
    struct pool *p = arg;
    int64_t now = loop_now_ns(p->dispatch->loop);
    bool congested = false;
    for (int i = 0; i < p->queue_count; i++) {
        struct queue *q = p->queues[i];
        if (q->congested_until_ns <= now)
            continue;
        congested = true;
        if (p->lead.ready && !p->lead.resting && queue_holds_all(q))
            publish(q);
    }
    if (congested)
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
