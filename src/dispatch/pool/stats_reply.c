/* ax.figures: what this dispatcher knows of the pools that it leads, for who asks
 * (docs/protocol.md). */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pool_stats.h"

#define POOLS_PER_ANSWER 200 /* some 150 KB, below any max_payload in use */

static json_t *json_ms(int64_t ns)
{
    return ns < 0 ? json_null() : json_real((double)(ns / 10000) / 100);
}

static json_t *durations(struct window *w, int64_t now)
{
    return json_pack("{s:I,s:o,s:o}", "count", (json_int_t)window_count(w, now), "p50_ms",
                     json_ms(window_quantile_ns(w, 0.5, now)), "p99_ms",
                     json_ms(window_quantile_ns(w, 0.99, now)));
}

static json_t *lately(const struct history *h, int64_t over_ns)
{
#define ROSE(series) (json_int_t) history_rise(h, series, over_ns)
    return json_pack("{s:f,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "seconds",
                     (double)history_reach_ns(h, over_ns) / 1e9, "pending_rise",
                     ROSE(SERIES_PENDING), "handed_off", ROSE(SERIES_HANDED), "ended",
                     ROSE(SERIES_ENDED), "timeouts", ROSE(SERIES_TIMEOUTS), "late_acks",
                     ROSE(SERIES_LATE_ACKS), "dead", ROSE(SERIES_DEAD), "leases_lapsed",
                     ROSE(SERIES_EXPIRED), "waited_s", ROSE(SERIES_WAITED), "limited_s",
                     ROSE(SERIES_LIMITED), "capped_s", ROSE(SERIES_CAPPED), "leases_lost",
                     ROSE(SERIES_LEASES_LOST), "grouped_s", ROSE(SERIES_GROUPED));
#undef ROSE
}

static json_t *pool_json(struct pool *p, int64_t now)
{
    struct pool_stats *f = &p->stats;
    json_t *queues = json_object();
    for (int i = 0; i < p->queue_count; i++) {
        int64_t pending = p->queues[i]->stats.pending;
        json_object_set_new(queues, p->queues[i]->priority,
                            pending >= 0 ? json_integer(pending) : json_null());
    }
    bool limited = p->flow.bucket.rate_per_s > 0;
    json_t *o = json_pack(
        "{s:s,s:b,s:o,s:o,s:I,s:I,s:I,s:o,s:f,s:f,s:o,s:I,s:s?}", "pool", p->name, "ready",
        (int)p->lead.ready, "pending", queues, "busy",
        f->busy >= 0 ? json_real(f->busy) : json_null(), "demand",
        (json_int_t)metric_value(f->m_demand), "pulls", (json_int_t)p->flow.demand.count,
        "inflight", (json_int_t)p->flow.inflight, "max_ack_pending",
        p->consumer.max_ack_pending < INT64_MAX ? json_integer(p->consumer.max_ack_pending)
                                                : json_null(),
        "rate", p->settings.rate, "rate_now", p->flow.bucket.rate_per_s, "tokens",
        limited ? json_integer(bucket_available(&p->flow.bucket, now)) : json_null(), "ack_wait_ms",
        (json_int_t)(p->consumer.ack_wait_ns / 1000000), "paused",
        !p->paused           ? NULL
        : p->settings.paused ? "settings"
                             : "consumer");
    int64_t limit = adapt_limit(p);
    if (o != NULL)
        json_object_set_new(o, "inflight_limit", limit > 0 ? json_integer(limit) : json_null());
    if (o != NULL && f->past != NULL) {
        json_object_set_new(o, "run", durations(&f->past->run, now));
        json_object_set_new(o, "silence", durations(&f->past->silence, now));
        json_object_set_new(o, "minute", lately(&f->past->history, STATS_SHORT_NS));
        json_object_set_new(o, "five_minutes", lately(&f->past->history, STATS_LONG_NS));
    }
    return o;
}

static json_t *head(struct dispatch *d, int part, int parts, json_t *pools)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t host_ns = t.tv_sec * 1000000000LL + t.tv_nsec;
    json_t *ahead = clock_is_set(&d->clock)
                        ? json_integer((host_ns - clock_ax_ns(&d->clock)) / 1000000)
                        : json_null();
    return json_pack("{s:s,s:s,s:s,s:b,s:i,s:i,s:I,s:o,s:o}", "program", "ax-dispatch", "name",
                     d->instance, "version", AX_VERSION, "ready", (int)atomic_load(&d->is_ready),
                     "part", part, "parts", parts, "clock_behind_ms",
                     (json_int_t)(clock_behind_ns(&d->clock) / 1000000), "host_clock_ahead_ms",
                     ahead, "pools", pools);
}

static void say(struct dispatch *d, const char *reply, json_t *answer)
{
    char *text = answer != NULL ? json_dumps(answer, JSON_COMPACT) : NULL;
    if (text == NULL)
        log_error("out of memory, figures not told", NULL);
    else
        wire_publish_text(d->wire, reply, text);
    free(text);
    json_decref(answer);
}

static void on_question(void *arg, natsMsg *msg)
{
    struct dispatch *d = arg;
    const char *reply = natsMsg_GetReply(msg);
    int64_t now = loop_now_ns(d->loop);
    int led = 0, part = 0;
    for (struct pool *p = d->pools; p != NULL; p = p->next)
        led += p->lead.led;
    int parts = led == 0 ? 1 : (led + POOLS_PER_ANSWER - 1) / POOLS_PER_ANSWER;
    struct pool *p = d->pools;
    while (reply != NULL && part < parts) {
        json_t *pools = json_array();
        for (; p != NULL && json_array_size(pools) < POOLS_PER_ANSWER; p = p->next) {
            if (p->lead.led && json_array_append_new(pools, pool_json(p, now)) != 0)
                break; /* out of memory: the rest is missing */
        }
        say(d, reply, head(d, ++part, parts, pools));
    }
    natsMsg_Destroy(msg);
}

ax_err stats_reply_listen(struct dispatch *d)
{
    return wire_subscribe(d->wire, NULL, STATS_SUBJECT, NULL, on_question, d);
}
