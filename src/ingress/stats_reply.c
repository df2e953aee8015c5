#include "ingress/stats_reply.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "ingress/ingress.h"
#include "ingress/queue/queue.h"
#include "stats/history.h"
#include "task/lease.h"

#define NOTE_EVERY_MS 1000
#define OVER_NS 300000000000LL

enum series { SERIES_UNKNOWN, SERIES_BURIED, SERIES_REFUSED, SERIES_GAPS };

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
    history_note(&t->history,
                 (const double[HISTORY_SERIES]){[SERIES_UNKNOWN] = (double)metric_value(c->unknown),
                                                [SERIES_BURIED] = (double)metric_value(c->buried),
                                                [SERIES_REFUSED] = (double)refused,
                                                [SERIES_GAPS] = (double)metric_value(c->gaps)},
                 now);
    for (struct queue *l = t->ing->queues; l != NULL; l = l->next) {
        struct queue_past *p = past_of(t, l);
        if (p != NULL) {
            history_note(&p->busy, (const double[HISTORY_SERIES]){(double)metric_value(l->busy)},
                         now);
        }
    }
}

static void on_timer(void *arg)
{
    struct stats_reply *t = arg;
    note(t);
    loop_timer_start(t->ing->loop, &t->timer, NOTE_EVERY_MS, on_timer, t);
}

static json_t *priorities_json(struct stats_reply *t)
{
    json_t *list = json_array();
    for (struct queue *l = t->ing->queues; l != NULL; l = l->next) {
        struct queue_past *p = past_of(t, l);
        if (l->here) {
            json_array_append_new(
                list, json_pack("{s:s,s:I,s:o,s:b,s:I}", "priority", l->p.name, "tasks",
                                (json_int_t)l->p.messages, "limit",
                                l->p.max_msgs >= 0 ? json_integer(l->p.max_msgs) : json_null(),
                                "spilling", (int)l->spilling, "busy_answers",
                                (json_int_t)(p != NULL ? history_rise(&p->busy, 0, OVER_NS) : 0)));
        }
    }
    return list;
}

static json_t *answer(struct stats_reply *t)
{
    struct ingress *ing = t->ing;
    struct timespec host;
    char why[128] = "";
    clock_gettime(CLOCK_REALTIME, &host);
    int64_t host_ns = host.tv_sec * 1000000000LL + host.tv_nsec;
    bool ready = ingress_is_ready(ing, why, sizeof(why));
#define ROSE(series) (json_int_t) history_rise(&t->history, series, OVER_NS)
    return json_pack(
        "{s:s,s:s,s:s,s:b,s:i,s:i,s:I,s:o,s:o,s:{s:I,s:I},s:I,s:{s:f,s:I,s:I,s:I,s:I}}", "program",
        "ax-ingress", "name", t->name, "version", AX_VERSION, "ready", (int)ready, "part", 1,
        "parts", 1, "clock_behind_ms", (json_int_t)(clock_behind_ns(ing->clock) / 1000000),
        "host_clock_ahead_ms",
        clock_is_set(ing->clock) ? json_integer((host_ns - clock_ax_ns(ing->clock)) / 1000000)
                                 : json_null(),
        "priorities", priorities_json(t), "later", "tasks", (json_int_t)ing->later.messages,
        "limit", (json_int_t)ing->later.max, "working",
        (json_int_t)metric_value(ing->counters.in_flight), "five_minutes", "seconds",
        (double)history_reach_ns(&t->history, OVER_NS) / 1e9, "refused", ROSE(SERIES_REFUSED),
        "unknown", ROSE(SERIES_UNKNOWN), "buried", ROSE(SERIES_BURIED), "gaps", ROSE(SERIES_GAPS));
#undef ROSE
}

static void on_question(void *arg, natsMsg *msg)
{
    struct stats_reply *t = arg;
    const char *reply = natsMsg_GetReply(msg);
    if (reply != NULL) {
        note(t);
        json_t *o = answer(t);
        char *text = o != NULL ? json_dumps(o, JSON_COMPACT) : NULL;
        if (text == NULL)
            log_error("out of memory, figures not told", NULL);
        else
            wire_publish_text(t->ing->wire, reply, text);
        free(text);
        json_decref(o);
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
    loop_enter(ing->loop);
    on_timer(t);
    loop_leave(ing->loop);
    return wire_subscribe(ing->wire, NULL, STATS_SUBJECT, NULL, on_question, t);
}
