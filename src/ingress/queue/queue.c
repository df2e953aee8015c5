#include "ingress/queue/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bus/consumer_info.h"
#include "bus/stream_info.h"
#include "ingress/feed/feeder.h"
#include "ingress/queue/foreign.h"

#define SAMPLE_BUSY_NS 1000000000LL /* between measurements while answering busy */
#define SAMPLE_IDLE_MS 5000
#define SPILL_POLL_MS 250
#define HOLD_BELOW 256
#define HOLD_NS 300000000LL
#define HOLD_PAUSE_NS 1000000000LL
#define HOLD_POLL_MS 5
#define INFO_WAIT_MS 3000
#define HINT_SOON_MS 150

struct queue *queue_find(struct ingress *ing, const char *name)
{
    for (struct queue *q = ing->queues; q != NULL; q = q->next) {
        if (strcmp(q->p.name, name) == 0)
            return q->here ? q : NULL;
    }
    return NULL;
}

/* What a priority that is gone had is not told any more. */
static void report(const struct queue *q)
{
    metric_set(q->gauge.tasks, (int64_t)q->p.messages);
    metric_set(q->gauge.limit, q->p.max_msgs);
    metric_set(q->gauge.is_spilling, q->spilling);
    metric_hide(q->gauge.tasks, !q->here);
    metric_hide(q->gauge.limit, !q->here || q->p.max_msgs < 0);
    metric_hide(q->gauge.is_spilling, !q->here);
}

static void on_sample(void *arg, ax_err err, const struct stream_info *info)
{
    struct queue *q = arg;
    q->asking = false;
    if (err != AX_OK)
        return;
    drain_sample(&q->drain, info->last_seq - info->messages, loop_now_ns(q->ing->loop));
    queue_room_learn(q, info);
    q->p.max_msgs = info->max_msgs;
    q->p.messages = info->messages;
    report(q);
    foreign_look(q, info);
}

void queue_sample(struct queue *q)
{
    if (q->asking)
        return;
    q->asked_ns = loop_now_ns(q->ing->loop);
    queue_room_asks(q);
    q->asking = stream_info_get(q->ing->pipe, q->ing->loop, q->p.stream, INFO_WAIT_MS, on_sample,
                                q) == AX_OK;
}

static void on_sample_timer(void *arg)
{
    struct queue *q = arg;
    if (q->here)
        queue_sample(q);
    loop_timer_start(q->ing->loop, &q->sample_timer, SAMPLE_IDLE_MS, on_sample_timer, q);
}

int64_t queue_hint_ms(struct queue *q)
{
    int64_t now = loop_now_ns(q->ing->loop);
    if (now - q->asked_ns >= SAMPLE_BUSY_NS)
        queue_sample(q);
    return drain_hint_ms(&q->drain, now);
}

int64_t queue_hint_soon_ms(struct queue *q)
{
    int64_t hint_ms = queue_hint_ms(q);
    return hint_ms > HINT_SOON_MS && !drain_stands(&q->drain, loop_now_ns(q->ing->loop))
               ? HINT_SOON_MS
               : hint_ms;
}

static void ask_spill(void *arg);

/* New tasks go behind those in the spill, so under load it would never be seen empty: they are held
 * for the moment that the last few take to reach the queue. */
static void hold(struct queue *q, uint64_t left)
{
    int64_t now = loop_now_ns(q->ing->loop);
    if (q->holding && now >= q->hold_until_ns)
        q->holding = false; /* the queue is full again */
    else if (!q->holding && left <= HOLD_BELOW && now >= q->hold_until_ns + HOLD_PAUSE_NS) {
        q->holding = true;
        q->hold_until_ns = now + HOLD_NS;
    }
}

static void on_spill_info(void *arg, ax_err err, const struct consumer_info *info)
{
    struct queue *q = arg;
    uint64_t left = err == AX_OK ? (uint64_t)(info->num_pending + info->num_ack_pending) : 0;
    if (err == AX_OK && left == 0 && q->spill_observed == q->spill_observed_at_ask) {
        q->spilling = q->holding = false;
        return;
    }
    q->spilling = q->spilling || (err == AX_OK && left > 0);
    hold(q, err == AX_OK ? left : UINT64_MAX);
    loop_timer_start(q->ing->loop, &q->spill_timer, q->holding ? HOLD_POLL_MS : SPILL_POLL_MS,
                     ask_spill, q);
}

static void ask_spill(void *arg)
{
    struct queue *q = arg;
    char consumer[64];
    feeder_consumer(q->p.name, consumer);
    q->spill_observed_at_ask = q->spill_observed;
    queue_room_watch_spill(q);
    if (!q->here || consumer_info_get(q->ing->pipe, q->ing->loop, STREAM_SPILL, consumer,
                                      INFO_WAIT_MS, on_spill_info, q) != AX_OK)
        loop_timer_start(q->ing->loop, &q->spill_timer, SPILL_POLL_MS, ask_spill, q);
}

void queue_spilled(struct queue *q)
{
    q->spill_observed++;
    if (!q->spilling) {
        q->spilling = true;
        loop_timer_start(q->ing->loop, &q->spill_timer, SPILL_POLL_MS, ask_spill, q);
    }
}

static struct metric *metric(const struct queue *q, enum metric_kind kind, const char *name,
                             const char *help)
{
    char labels[64];
    snprintf(labels, sizeof(labels), "priority=\"%s\"", q->p.name);
    return metrics_get(kind, name, help, labels);
}

static struct queue *queue_new(struct ingress *ing, const struct priority *p)
{
    struct queue *q = calloc(1, sizeof(*q));
    if (q == NULL)
        return NULL;
    q->ing = ing;
    q->p = *p;
    drain_init(&q->drain);
    q->count.submitted = metric(q, METRIC_COUNTER, "ax_ingress_submitted_total",
                                "Submissions with a valid priority");
    q->count.accepted = metric(q, METRIC_COUNTER, "ax_ingress_accepted_total",
                               "Tasks stored in the queue");
    q->count.busy = metric(q, METRIC_COUNTER, "ax_ingress_busy_total",
                           "Submissions answered busy because the queue was full");
    q->count.over_share = metric(
        q, METRIC_COUNTER, "ax_ingress_over_share_total",
        "Submissions answered busy because their group held more than its share "
        "while others waited");
    q->count.over_pool_share = metric(
        q, METRIC_COUNTER, "ax_ingress_over_pool_share_total",
        "Submissions answered busy because their pool held more than its share of the queue");
    q->count.spilled = metric(q, METRIC_COUNTER, "ax_ingress_spilled_total",
                              "Tasks stored in the spill");
    q->gauge.tasks = metric(q, METRIC_GAUGE, "ax_ingress_queue_tasks",
                            "Unfinished tasks in the queue, as last read from the server");
    q->gauge.limit = metric(q, METRIC_GAUGE, "ax_ingress_queue_limit_tasks",
                            "Bound of the queue, as last read from the server");
    q->gauge.is_spilling = metric(q, METRIC_GAUGE, "ax_ingress_spilling",
                                  "1: tasks wait in the spill, new ones go there, too");
    if (feeder_new(&q->due, q, STREAM_LATER) != AX_OK ||
        feeder_new(&q->spill, q, STREAM_SPILL) != AX_OK) {
        log_error("cannot start the feeders, trying again", "priority=%s", p->name);
        free(q); /* a feeder that did start has asked for nothing yet: it stays idle */
        return NULL;
    }
    q->next = ing->queues;
    ing->queues = q;
    on_sample_timer(q);
    return q;
}

static struct queue *find_any(struct ingress *ing, const char *name)
{
    for (struct queue *q = ing->queues; q != NULL; q = q->next) {
        if (strcmp(q->p.name, name) == 0)
            return q;
    }
    return NULL;
}

static void set_here(struct queue *q, bool here)
{
    if (q->here == here)
        return;
    q->here = here;
    if (here) {
        log_info("priority is here", "priority=%s stream=%s rank=%d", q->p.name, q->p.stream,
                 q->p.rank);
        ask_spill(q);
    } else {
        log_warn("priority is gone", "priority=%s stream=%s", q->p.name, q->p.stream);
    }
    report(q);
    bool run = here && !q->ing->closing;
    feeder_run(q->due, run);
    feeder_run(q->spill, run);
}

void queues_update(struct ingress *ing, const struct priorities *ps)
{
    for (struct queue *q = ing->queues; q != NULL; q = q->next) {
        if (priorities_find(ps, q->p.name) < 0)
            set_here(q, false);
    }
    for (int i = 0; i < ps->count; i++) {
        struct queue *q = find_any(ing, ps->list[i].name);
        if (q == NULL)
            q = queue_new(ing, &ps->list[i]);
        if (q == NULL)
            continue;
        q->p = ps->list[i];
        set_here(q, true);
        report(q);
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct queue *x = *(struct queue *const *)a, *y = *(struct queue *const *)b;
    return x->p.rank != y->p.rank ? (x->p.rank > y->p.rank) - (x->p.rank < y->p.rank)
                                  : strcmp(x->p.name, y->p.name);
}

char *queues_list(const struct ingress *ing, char *buf, size_t cap)
{
    const struct queue *here[PRIORITIES_MAX];
    size_t count = 0, used = 0;
    for (const struct queue *q = ing->queues; q != NULL && count < PRIORITIES_MAX; q = q->next) {
        if (q->here)
            here[count++] = q;
    }
    qsort(here, count, sizeof(here[0]), by_rank);
    buf[0] = '\0';
    for (size_t i = 0; i < count && used < cap; i++) {
        used += (size_t)snprintf(buf + used, cap - used, "%s%s", i > 0 ? ", " : "",
                                 here[i]->p.name);
    }
    return buf;
}

void queues_reconnected(struct ingress *ing)
{
    for (struct queue *q = ing->queues; q != NULL; q = q->next) {
        feeder_reconnected(q->due);
        feeder_reconnected(q->spill);
        if (q->here && !loop_timer_is_running(&q->spill_timer))
            loop_timer_start(ing->loop, &q->spill_timer, SPILL_POLL_MS, ask_spill, q);
    }
}

void queues_close(struct ingress *ing)
{
    for (struct queue *q = ing->queues; q != NULL; q = q->next) {
        feeder_run(q->due, false);
        feeder_run(q->spill, false);
    }
}

int queues_in_flight(const struct ingress *ing)
{
    int held = 0;
    for (const struct queue *q = ing->queues; q != NULL; q = q->next)
        held += feeder_in_flight(q->due) + feeder_in_flight(q->spill);
    return held;
}
