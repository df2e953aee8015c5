#include "ingress/queue/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bus/consumer_info.h"
#include "bus/stream_info.h"
#include "ingress/feed/feeder.h"

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
    for (struct queue *l = ing->queues; l != NULL; l = l->next) {
        if (strcmp(l->p.name, name) == 0)
            return l->here ? l : NULL;
    }
    return NULL;
}

/* What a priority that is gone had is not told any more. */
static void report(const struct queue *l)
{
    metric_set(l->gauge.tasks, (int64_t)l->p.messages);
    metric_set(l->gauge.limit, l->p.max_msgs);
    metric_set(l->gauge.is_spilling, l->spilling);
    metric_hide(l->gauge.tasks, !l->here);
    metric_hide(l->gauge.limit, !l->here || l->p.max_msgs < 0);
    metric_hide(l->gauge.is_spilling, !l->here);
}

static void on_sample(void *arg, ax_err err, const struct stream_info *info)
{
    struct queue *l = arg;
    l->asking = false;
    if (err != AX_OK)
        return;
    drain_sample(&l->drain, info->last_seq - info->messages, loop_now_ns(l->ing->loop));
    l->p.max_msgs = info->max_msgs;
    l->p.messages = info->messages;
    report(l);
}

static void sample(struct queue *l)
{
    if (l->asking)
        return;
    l->asked_ns = loop_now_ns(l->ing->loop);
    l->asking = stream_info_get(l->ing->pipe, l->ing->loop, l->p.stream, INFO_WAIT_MS, on_sample,
                                l) == AX_OK;
}

static void on_sample_timer(void *arg)
{
    struct queue *l = arg;
    if (l->here)
        sample(l);
    loop_timer_start(l->ing->loop, &l->sample_timer, SAMPLE_IDLE_MS, on_sample_timer, l);
}

int64_t queue_hint_ms(struct queue *l)
{
    int64_t now = loop_now_ns(l->ing->loop);
    if (now - l->asked_ns >= SAMPLE_BUSY_NS)
        sample(l);
    return drain_hint_ms(&l->drain, now);
}

int64_t queue_hint_soon_ms(struct queue *l)
{
    int64_t hint_ms = queue_hint_ms(l);
    return hint_ms > HINT_SOON_MS && !drain_stands(&l->drain, loop_now_ns(l->ing->loop))
               ? HINT_SOON_MS
               : hint_ms;
}

static void ask_spill(void *arg);

/* New tasks go behind those in the spill, so under load it would never be seen empty: they are held
 * for the moment that the last few take to reach the queue. */
static void hold(struct queue *l, uint64_t left)
{
    int64_t now = loop_now_ns(l->ing->loop);
    if (l->holding && now >= l->hold_until_ns)
        l->holding = false; /* the queue is full again */
    else if (!l->holding && left <= HOLD_BELOW && now >= l->hold_until_ns + HOLD_PAUSE_NS) {
        l->holding = true;
        l->hold_until_ns = now + HOLD_NS;
    }
}

static void on_spill_info(void *arg, ax_err err, const struct consumer_info *info)
{
    struct queue *l = arg;
    uint64_t left = err == AX_OK ? (uint64_t)(info->num_pending + info->num_ack_pending) : 0;
    if (err == AX_OK && left == 0 && l->spill_heard == l->spill_heard_at_ask) {
        l->spilling = l->holding = false;
        return;
    }
    l->spilling = l->spilling || (err == AX_OK && left > 0);
    hold(l, err == AX_OK ? left : UINT64_MAX);
    loop_timer_start(l->ing->loop, &l->spill_timer, l->holding ? HOLD_POLL_MS : SPILL_POLL_MS,
                     ask_spill, l);
}

static void ask_spill(void *arg)
{
    struct queue *l = arg;
    char consumer[64];
    feeder_consumer(l->p.name, consumer);
    l->spill_heard_at_ask = l->spill_heard;
    if (!l->here || consumer_info_get(l->ing->pipe, l->ing->loop, STREAM_SPILL, consumer,
                                      INFO_WAIT_MS, on_spill_info, l) != AX_OK)
        loop_timer_start(l->ing->loop, &l->spill_timer, SPILL_POLL_MS, ask_spill, l);
}

void queue_spilled(struct queue *l)
{
    l->spill_heard++;
    if (!l->spilling) {
        l->spilling = true;
        loop_timer_start(l->ing->loop, &l->spill_timer, SPILL_POLL_MS, ask_spill, l);
    }
}

static struct metric *metric(const struct queue *l, enum metric_kind kind, const char *name,
                             const char *help)
{
    char labels[64];
    snprintf(labels, sizeof(labels), "priority=\"%s\"", l->p.name);
    return metrics_get(kind, name, help, labels);
}

static struct queue *queue_new(struct ingress *ing, const struct priority *p)
{
    struct queue *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return NULL;
    l->ing = ing;
    l->p = *p;
    drain_init(&l->drain);
    l->count.submitted = metric(l, METRIC_COUNTER, "ax_ingress_submitted_total",
                                "Submissions with a valid priority");
    l->count.accepted = metric(l, METRIC_COUNTER, "ax_ingress_accepted_total",
                               "Tasks stored in the queue");
    l->count.busy = metric(l, METRIC_COUNTER, "ax_ingress_busy_total",
                           "Submissions answered busy because the queue was full");
    l->count.over_share = metric(
        l, METRIC_COUNTER, "ax_ingress_over_share_total",
        "Submissions answered busy because their group held more than its share "
        "while others waited");
    l->count.spilled = metric(l, METRIC_COUNTER, "ax_ingress_spilled_total",
                              "Tasks stored in the spill");
    l->gauge.tasks = metric(l, METRIC_GAUGE, "ax_ingress_queue_tasks",
                            "Unfinished tasks in the queue, as last read from the server");
    l->gauge.limit = metric(l, METRIC_GAUGE, "ax_ingress_queue_limit_tasks",
                            "Bound of the queue, as last read from the server");
    l->gauge.is_spilling = metric(l, METRIC_GAUGE, "ax_ingress_spilling",
                                  "1: tasks wait in the spill, new ones go there, too");
    if (feeder_new(&l->due, l, STREAM_LATER) != AX_OK ||
        feeder_new(&l->spill, l, STREAM_SPILL) != AX_OK) {
        log_error("cannot start the feeders, trying again", "priority=%s", p->name);
        free(l); /* a feeder that did start has asked for nothing yet: it stays idle */
        return NULL;
    }
    l->next = ing->queues;
    ing->queues = l;
    on_sample_timer(l);
    return l;
}

static struct queue *find_any(struct ingress *ing, const char *name)
{
    for (struct queue *l = ing->queues; l != NULL; l = l->next) {
        if (strcmp(l->p.name, name) == 0)
            return l;
    }
    return NULL;
}

static void set_here(struct queue *l, bool here)
{
    if (l->here == here)
        return;
    l->here = here;
    if (here) {
        log_info("priority is here", "priority=%s stream=%s rank=%d", l->p.name, l->p.stream,
                 l->p.rank);
        ask_spill(l);
    } else {
        log_warn("priority is gone", "priority=%s stream=%s", l->p.name, l->p.stream);
    }
    report(l);
    bool run = here && !l->ing->closing;
    feeder_run(l->due, run);
    feeder_run(l->spill, run);
}

void queues_update(struct ingress *ing, const struct priorities *ps)
{
    for (struct queue *l = ing->queues; l != NULL; l = l->next) {
        if (priorities_find(ps, l->p.name) < 0)
            set_here(l, false);
    }
    for (int i = 0; i < ps->count; i++) {
        struct queue *l = find_any(ing, ps->list[i].name);
        if (l == NULL)
            l = queue_new(ing, &ps->list[i]);
        if (l == NULL)
            continue;
        l->p = ps->list[i];
        set_here(l, true);
        report(l);
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
    for (const struct queue *l = ing->queues; l != NULL && count < PRIORITIES_MAX; l = l->next) {
        if (l->here)
            here[count++] = l;
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
    for (struct queue *l = ing->queues; l != NULL; l = l->next) {
        feeder_reconnected(l->due);
        feeder_reconnected(l->spill);
        if (l->here && !loop_timer_is_running(&l->spill_timer))
            loop_timer_start(ing->loop, &l->spill_timer, SPILL_POLL_MS, ask_spill, l);
    }
}

void queues_close(struct ingress *ing)
{
    for (struct queue *l = ing->queues; l != NULL; l = l->next) {
        feeder_run(l->due, false);
        feeder_run(l->spill, false);
    }
}

int queues_in_flight(const struct ingress *ing)
{
    int held = 0;
    for (const struct queue *l = ing->queues; l != NULL; l = l->next)
        held += feeder_in_flight(l->due) + feeder_in_flight(l->spill);
    return held;
}
