#include "bus/provision/consumer_plan.h"

#include <stdio.h>
#include <string.h>

#include "bus/api.h"
#include "bus/provision/consumer_kept.h"

#define NS_PER_S 1000000000LL
#define WORK_ACK_WAIT_NS (30 * NS_PER_S)
#define WORK_MAX_ACK_PENDING 1000
/* What an ingress that died held is redelivered this much later; a living one renews it four times
 * as often. */
#define FEEDER_ACK_WAIT_NS (6 * NS_PER_S)

void consumer_plan_work(struct consumer_plan *c, const char *pool)
{
    *c = (struct consumer_plan){.stream = STREAM_WORK,
                                .ack_wait_ns = WORK_ACK_WAIT_NS,
                                .max_deliver = 1,
                                .max_ack_pending = WORK_MAX_ACK_PENDING};
    snprintf(c->name, sizeof(c->name), "%s", pool);
    snprintf(c->filter, sizeof(c->filter), "ax.work.%s.>", pool);
}

void consumer_plan_queue(struct consumer_plan *c, const struct priority *pr, const char *pool,
                         int64_t work_ack_wait_ns, const json_t *kept)
{
    int64_t margin_ns = work_ack_wait_ns / 10 > NS_PER_S ? work_ack_wait_ns / 10 : NS_PER_S;
    *c = (struct consumer_plan){.ack_wait_ns = work_ack_wait_ns + margin_ns,
                                .max_deliver = -1,
                                .max_ack_pending = -1,
                                .keeps_ack_wait = true,
                                .keeps_work = true,
                                .kept = kept};
    snprintf(c->stream, sizeof(c->stream), "%s", pr->stream);
    snprintf(c->name, sizeof(c->name), "%s", pool);
    snprintf(c->filter, sizeof(c->filter), "ax.queue.%s.%s.>", pr->name, pool);
}

void consumer_plan_feeder(struct consumer_plan *c, const char *stream, const char *priority)
{
    const char *stage = strcmp(stream, STREAM_SPILL) == 0 ? "spill" : "due";
    *c = (struct consumer_plan){
        .ack_wait_ns = FEEDER_ACK_WAIT_NS, .max_deliver = -1, .max_ack_pending = -1};
    snprintf(c->stream, sizeof(c->stream), "%s", stream);
    snprintf(c->name, sizeof(c->name), "feeder-%s", priority);
    snprintf(c->filter, sizeof(c->filter), "ax.%s.%s.>", stage, priority);
}

static json_t *with_kept(const struct consumer_plan *c, json_t *config)
{
    bool done = config != NULL;
    if (done && c->keeps_work)
        done = consumer_kept_write(config, c->kept);
    else if (done && c->is_made_again)
        done = consumer_kept_apply(config, c->kept);
    if (done)
        return config;
    json_decref(config);
    return NULL;
}

json_t *consumer_plan_config(const struct consumer_plan *c)
{
    return with_kept(c, json_pack("{s:s,s:s,s:s,s:s,s:I,s:i,s:i,s:s,s:s}", "durable_name", c->name,
                                  "name", c->name, "ack_policy", "explicit", "deliver_policy",
                                  "all", "ack_wait", (json_int_t)c->ack_wait_ns, "max_deliver",
                                  c->max_deliver, "max_ack_pending", c->max_ack_pending,
                                  "replay_policy", "instant", "filter_subject", c->filter));
}

bool consumer_plan_has_backoff(const struct consumer_info *info)
{
    return json_array_size(json_object_get(info->config, "backoff")) > 0;
}

/* What is to be changed of one that exists. */
struct repair {
    bool deliver, backoff, wait, kept;
    int64_t wait_ns;
};

static struct repair repair_of(const struct consumer_plan *c, const struct consumer_info *info)
{
    bool is_bounded = c->max_deliver > 0;
    struct repair r = {.deliver = is_bounded ? info->max_deliver != c->max_deliver
                                             : info->max_deliver > 0,
                       .backoff = consumer_plan_has_backoff(info),
                       .wait_ns = c->ack_wait_ns};
    if (!c->keeps_work)
        r.wait_ns = api_integer(c->kept, "ack_wait", c->ack_wait_ns);
    r.wait = (r.backoff || c->keeps_ack_wait) && info->ack_wait_ns != r.wait_ns;
    r.kept = c->keeps_work && !consumer_kept_is(info->config, c->kept);
    return r;
}

static void describe(const struct consumer_plan *c, const struct consumer_info *info,
                     const struct repair *r, char *line, size_t cap)
{
    char deliver[96] = "", wait[128] = "";
    if (r->deliver) {
        snprintf(deliver, sizeof(deliver), ", max_deliver %lld set back to %d",
                 (long long)info->max_deliver, c->max_deliver);
    }
    if (r->wait) {
        snprintf(wait, sizeof(wait), ", ack_wait %lld ms set to %lld ms",
                 (long long)(info->ack_wait_ns / 1000000), (long long)(r->wait_ns / 1000000));
    }
    char changes[320];
    snprintf(changes, sizeof(changes), "%s%s%s%s", r->backoff ? ", backoff removed" : "", deliver,
             wait, r->kept ? ", keeps the settings of the one on AX_WORK" : "");
    snprintf(line, cap, "consumer %s on %s: %s", c->name, c->stream, changes + 2);
}

json_t *consumer_plan_repair(const struct consumer_plan *c, const struct consumer_info *info,
                             char *line, size_t cap)
{
    const struct repair r = repair_of(c, info);
    if (!r.deliver && !r.backoff && !r.wait && !r.kept)
        return NULL;
    json_t *config = json_deep_copy(info->config);
    if (config == NULL || (r.kept && !consumer_kept_write(config, c->kept))) {
        json_decref(config);
        return NULL;
    }
    describe(c, info, &r, line, cap);
    if (r.deliver)
        json_object_set_new(config, "max_deliver", json_integer(c->max_deliver));
    if (r.backoff)
        json_object_del(config, "backoff");
    if (r.wait)
        json_object_set_new(config, "ack_wait", json_integer(r.wait_ns));
    return config;
}
