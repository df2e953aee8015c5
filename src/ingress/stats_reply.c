#include "ingress/stats_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingress/ingress.h"
#include "ingress/key_index.h"
#include "ingress/queue/queue.h"
#include "ingress/schedules.h"
#include "stats/history.h"
#include "stats/stats_answer.h"
#include "task/peer/instance.h"
#include "task/peer/lease.h"

#define NOTE_EVERY_MS 1000
#define SCHEDULES_A_PAGE 5000  /* some 350 KB, below any max_payload in use */
#define OVER_NS 300000000000LL /* "the last five minutes" */

/* How often one priority was refused as full. queue: borrowed; a queue is never freed. */
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

static struct queue_past *past_of(struct stats_reply *r, const struct queue *q)
{
    for (int i = 0; i < r->queue_count; i++) {
        if (r->queues[i].queue == q)
            return &r->queues[i];
    }
    if (r->queue_count == PRIORITIES_MAX)
        return NULL;
    r->queues[r->queue_count].queue = q;
    return &r->queues[r->queue_count++];
}

static void note(struct stats_reply *r)
{
    struct counters *c = &r->ing->counters;
    int64_t now = loop_now_ns(r->ing->loop), refused = 0;
    for (int i = 0; i < REFUSAL_COUNT; i++)
        refused += metric_value(c->refused[i]);
    history_note(
        &r->history,
        (const double[HISTORY_SERIES]){
            [INGRESS_SERIES_UNKNOWN] = (double)metric_value(c->unknown),
            [INGRESS_SERIES_BURIED] = (double)metric_value(c->buried),
            [INGRESS_SERIES_REFUSED] = (double)refused,
            [INGRESS_SERIES_GAPS] = (double)metric_value(c->gaps),
            [INGRESS_SERIES_UNREADABLE] = (double)key_index_unreadable_count(r->ing->key_index)},
        now);
    for (struct queue *q = r->ing->queues; q != NULL; q = q->next) {
        struct queue_past *p = past_of(r, q);
        if (p != NULL) {
            history_note(&p->busy,
                         (const double[HISTORY_SERIES]){(double)metric_value(q->count.busy)}, now);
        }
    }
}

static void on_timer(void *arg)
{
    struct stats_reply *r = arg;
    note(r);
    loop_timer_start(r->ing->loop, &r->timer, NOTE_EVERY_MS, on_timer, r);
}

static json_t *priority_json(struct stats_reply *r, const struct queue *q)
{
    const struct queue_past *past = past_of(r, q);
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

static void fill(struct stats_ingress *out, struct stats_reply *r)
{
    const struct ingress *ing = r->ing;
    *out = (struct stats_ingress){
        .working = metric_value(ing->counters.in_flight),
        .later = {.tasks = (int64_t)ing->later.messages, .limit = (int64_t)ing->later.max},
        .five_minutes = {.seconds = (double)history_reach_ns(&r->history, OVER_NS) / 1e9,
#define X(series, name) .name = (int64_t)history_rise(&r->history, series, OVER_NS),
                         STATS_INGRESS_SERIES(X)
#undef X
        },
    };
}

/* NULL: out of memory. */
static json_t *answer(struct stats_reply *r)
{
    struct ingress *ing = r->ing;
    struct stats_daemon self;
    struct stats_ingress stats;
    char why[128] = "";
    json_t *o = json_object(), *priorities = json_array();
    stats_answer_daemon(&self, "ax-ingress", r->name, ingress_is_ready(ing, why, sizeof(why)),
                        ing->clock);
    fill(&stats, r);
    for (struct queue *q = ing->queues; q != NULL; q = q->next) {
        if (q->here)
            json_array_append_new(priorities, priority_json(r, q));
    }
    if (json_object_set_new(o, "priorities", priorities) == 0 &&
        stats_answer_put_daemon(o, &self) && stats_answer_put_ingress(o, &stats))
        return o;
    json_decref(o);
    return NULL;
}

/* The body "schedules", or "schedules 5000" for those after the first 5,000, asks for their names
 * as well. */
static json_t *add_schedules(struct stats_reply *r, json_t *o, natsMsg *msg)
{
    char body[32];
    long long from = 0;
    const struct schedules *all = r->ing->schedules;
    int bytes = natsMsg_GetDataLength(msg);
    if (o == NULL || bytes <= 0 || bytes >= (int)sizeof(body))
        return o;
    snprintf(body, sizeof(body), "%.*s", bytes, natsMsg_GetData(msg));
    if (strncmp(body, STATS_ASK_SCHEDULES, sizeof(STATS_ASK_SCHEDULES) - 1) != 0)
        return o;
    from = strtoll(body + sizeof(STATS_ASK_SCHEDULES) - 1, NULL, 10);
    from = from < 0 ? 0 : from;
    json_object_set_new(o, "schedules", schedules_json(all, from, SCHEDULES_A_PAGE));
    json_object_set_new(o, "schedules_total", json_integer(schedules_count(all)));
    return o;
}

static void on_query(void *arg, natsMsg *msg)
{
    struct stats_reply *r = arg;
    const char *reply = replies_of(&r->ing->replies, msg);
    if (reply != NULL) {
        note(r);
        stats_answer_send(r->ing->wire, reply, add_schedules(r, answer(r), msg));
    }
    natsMsg_Destroy(msg);
}

ax_err stats_reply_start(struct ingress *ing)
{
    struct stats_reply *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return AX_E_NOMEM;
    r->ing = ing;
    instance_new(r->name);
    ing->stats_reply = r;
    on_timer(r);
    return wire_subscribe(ing->wire, NULL, STATS_SUBJECT, NULL, on_query, r);
}
