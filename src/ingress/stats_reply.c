#include "ingress/stats_reply.h"

#include <stdio.h>
#include <stdlib.h>

#include "ingress/ingress.h"
#include "ingress/queue/queue.h"
#include "stats/history.h"
#include "stats/stats_answer.h"
#include "task/peer/instance.h"
#include "task/peer/lease.h"

#define NOTE_EVERY_MS 1000
#define OVER_NS 300000000000LL

/* What one priority answered. A queue is never freed, and keeps its name. */
struct queue_past {
    const struct queue *queue;
    struct history busy;
};

struct stats_reply {
    struct ingress *ing;
    char name[INSTANCE_MAX_CHARS + 1];
    struct history history;
    struct queue_past queues[PRIORITIES_MAX];
    int queue_count;
    struct loop_timer timer;
};

static struct queue_past *past_of(struct stats_reply *t, const struct queue *l)
{
    for (int i = 0; i < t->queue_count; i++) {
        if (t->queues[i].queue == l)
            return &t->queues[i];
    }
    if (t->queue_count == PRIORITIES_MAX)
        return NULL;
    t->queues[t->queue_count].queue = l;
    return &t->queues[t->queue_count++];
}

static void note(struct stats_reply *t)
{
    struct counters *c = &t->ing->counters;
    int64_t now = loop_now_ns(t->ing->loop), refused = 0;
    for (int i = 0; i < REFUSAL_COUNT; i++)
        refused += metric_value(c->refused[i]);
    history_note(
        &t->history,
        (const double[HISTORY_SERIES]){[INGRESS_SERIES_UNKNOWN] = (double)metric_value(c->unknown),
                                       [INGRESS_SERIES_BURIED] = (double)metric_value(c->buried),
                                       [INGRESS_SERIES_REFUSED] = (double)refused,
                                       [INGRESS_SERIES_GAPS] = (double)metric_value(c->gaps)},
        now);
    for (struct queue *l = t->ing->queues; l != NULL; l = l->next) {
        struct queue_past *p = past_of(t, l);
        if (p != NULL) {
            history_note(&p->busy,
                         (const double[HISTORY_SERIES]){(double)metric_value(l->count.busy)}, now);
        }
    }
}

static void on_timer(void *arg)
{
    struct stats_reply *t = arg;
    note(t);
    loop_timer_start(t->ing->loop, &t->timer, NOTE_EVERY_MS, on_timer, t);
}

static json_t *priority_json(struct stats_reply *t, const struct queue *q)
{
    const struct queue_past *past = past_of(t, q);
    struct stats_priority stats = {
        .tasks = (int64_t)q->p.messages,
        .limit = q->p.max_msgs >= 0 ? q->p.max_msgs : -1,
        .spilling = q->spilling,
        .busy_answers = past != NULL ? (int64_t)history_rise(&past->busy, 0, OVER_NS) : 0,
    };
    snprintf(stats.priority, sizeof(stats.priority), "%s", q->p.name);
    json_t *o = json_object();
    if (stats_answer_put_priority(o, &stats))
        return o;
    json_decref(o);
    return NULL;
}

static void fill(struct stats_ingress *out, struct stats_reply *t)
{
    const struct ingress *ing = t->ing;
    *out = (struct stats_ingress){
        .working = metric_value(ing->counters.in_flight),
        .later = {.tasks = (int64_t)ing->later.messages, .limit = (int64_t)ing->later.max},
        .five_minutes = {.seconds = (double)history_reach_ns(&t->history, OVER_NS) / 1e9,
#define X(series, name) .name = (int64_t)history_rise(&t->history, series, OVER_NS),
                         STATS_INGRESS_SERIES(X)
#undef X
        },
    };
}

/* NULL: out of memory. */
static json_t *answer(struct stats_reply *t)
{
    struct ingress *ing = t->ing;
    struct stats_daemon self;
    struct stats_ingress stats;
    char why[128] = "";
    json_t *o = json_object(), *priorities = json_array();
    stats_answer_daemon(&self, "ax-ingress", t->name, ingress_is_ready(ing, why, sizeof(why)),
                        ing->clock);
    fill(&stats, t);
    for (struct queue *q = ing->queues; q != NULL; q = q->next) {
        if (q->here)
            json_array_append_new(priorities, priority_json(t, q));
    }
    if (json_object_set_new(o, "priorities", priorities) == 0 &&
        stats_answer_put_daemon(o, &self) && stats_answer_put_ingress(o, &stats))
        return o;
    json_decref(o);
    return NULL;
}

static void on_query(void *arg, natsMsg *msg)
{
    struct stats_reply *t = arg;
    const char *reply = natsMsg_GetReply(msg);
    if (reply != NULL) {
        note(t);
        stats_answer_send(t->ing->wire, reply, answer(t));
    }
    natsMsg_Destroy(msg);
}

ax_err stats_reply_start(struct ingress *ing)
{
    struct stats_reply *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return AX_E_NOMEM;
    t->ing = ing;
    instance_new(t->name);
    ing->stats_reply = t;
    on_timer(t);
    return wire_subscribe(ing->wire, NULL, STATS_SUBJECT, NULL, on_query, t);
}
