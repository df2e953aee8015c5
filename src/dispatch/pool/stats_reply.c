#include "dispatch/pool/stats_reply.h"

#include <stdio.h>

#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "stats/stats_answer.h"

#define POOLS_PER_ANSWER 200 /* some 150 KB, below any max_payload in use */

static double ms(int64_t ns)
{
    return ns < 0 ? -1 : (double)(ns / 10000) / 100;
}

static struct stats_durations durations(struct window *w, int64_t now)
{
    return (struct stats_durations){.count = window_count(w, now),
                                    .p50_ms = ms(window_quantile_ns(w, 0.5, now)),
                                    .p99_ms = ms(window_quantile_ns(w, 0.99, now))};
}

static struct stats_pool_recent recent(const struct history *h, int64_t over_ns)
{
    return (struct stats_pool_recent){.seconds = (double)history_reach_ns(h, over_ns) / 1e9,
#define X(series, name) .name = (int64_t)history_rise(h, series, over_ns),
                                      STATS_POOL_SERIES(X)
#undef X
    };
}

static void fill(struct stats_pool *out, struct pool *p, int64_t now)
{
    const struct pool_stats *f = &p->stats;
    int64_t limit = adapt_limit(&p->adapt);
    bool limited = p->flow.bucket.rate_per_s > 0;
    *out = (struct stats_pool){
        .ready = p->lead.ready,
        .busy = f->busy,
        .demand = metric_value(f->m_demand),
        .pulls = p->flow.demand.count,
        .inflight = p->flow.inflight,
        .max_ack_pending = p->consumer.max_ack_pending < INT64_MAX ? p->consumer.max_ack_pending
                                                                   : -1,
        .rate = p->settings.rate,
        .rate_now = p->flow.bucket.rate_per_s,
        .tokens = limited ? bucket_available(&p->flow.bucket, now) : -1,
        .ack_wait_ms = p->consumer.ack_wait_ns / 1000000,
        .inflight_limit = limit > 0 ? limit : -1,
    };
    snprintf(out->pool, sizeof(out->pool), "%s", p->name);
    const char *paused_by = work_consumer_paused_by(p);
    snprintf(out->paused, sizeof(out->paused), "%s", paused_by != NULL ? paused_by : "");
    snprintf(out->unprovisioned, sizeof(out->unprovisioned), "%s", p->consumer.why_failed);
    if (f->past != NULL) {
        out->run = durations(&f->past->run, now);
        out->silence = durations(&f->past->silence, now);
        out->minute = recent(&f->past->history, STATS_SHORT_NS);
        out->five_minutes = recent(&f->past->history, STATS_LONG_NS);
    }
}

static json_t *pool_json(struct pool *p, int64_t now)
{
    struct stats_pool stats;
    json_t *o = json_object(), *pending = json_object();
    fill(&stats, p, now);
    for (int i = 0; i < p->queue_count; i++) {
        int64_t n = p->queues[i]->stats.pending;
        json_object_set_new(pending, p->queues[i]->priority,
                            n >= 0 ? json_integer(n) : json_null());
    }
    if (json_object_set_new(o, "pending", pending) == 0 &&
        stats_answer_put_pool(o, &stats, p->stats.past != NULL))
        return o;
    json_decref(o);
    return NULL;
}

/* One part of the answer, with the next pools from *next on. NULL: out of memory. */
static json_t *part_json(const struct stats_daemon *self, struct pool **next, int64_t now)
{
    json_t *answer = json_object(), *pools = json_array();
    for (; *next != NULL && json_array_size(pools) < POOLS_PER_ANSWER; *next = (*next)->next) {
        if ((*next)->lead.led && json_array_append_new(pools, pool_json(*next, now)) != 0)
            break; /* out of memory: the rest is missing */
    }
    if (json_object_set_new(answer, "pools", pools) == 0 && stats_answer_put_daemon(answer, self))
        return answer;
    json_decref(answer);
    return NULL;
}

static void on_query(void *arg, natsMsg *msg)
{
    struct dispatch *d = arg;
    struct pool *next = d->table.pools;
    struct stats_daemon self;
    const char *reply = replies_of(&d->replies, msg);
    int led = 0;
    for (struct pool *p = d->table.pools; p != NULL; p = p->next)
        led += p->lead.led;
    stats_answer_daemon(&self, "ax-dispatch", d->instance, atomic_load(&d->is_ready), &d->clock);
    self.parts = led == 0 ? 1 : (led + POOLS_PER_ANSWER - 1) / POOLS_PER_ANSWER;
    for (self.part = 1; reply != NULL && self.part <= self.parts; self.part++)
        stats_answer_send(d->wire, reply, part_json(&self, &next, loop_now_ns(d->loop)));
    natsMsg_Destroy(msg);
}

ax_err stats_reply_listen(struct dispatch *d)
{
    return wire_subscribe(d->wire, NULL, STATS_SUBJECT, NULL, on_query, d);
}
