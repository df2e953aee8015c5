#include "bus/provision/consumer_plan.h"

#include <stdio.h>
#include <string.h>

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
                                .max_ack_pending = WORK_MAX_ACK_PENDING,
                                .keeps_max_deliver = true};
    snprintf(c->name, sizeof(c->name), "%s", pool);
    snprintf(c->filter, sizeof(c->filter), "ax.work.%s.>", pool);
}

void consumer_plan_queue(struct consumer_plan *c, const struct priority *pr, const char *pool,
                         int64_t work_ack_wait_ns)
{
    int64_t margin_ns = work_ack_wait_ns / 10 > NS_PER_S ? work_ack_wait_ns / 10 : NS_PER_S;
    *c = (struct consumer_plan){.ack_wait_ns = work_ack_wait_ns + margin_ns,
                                .max_deliver = -1,
                                .max_ack_pending = -1,
                                .keeps_ack_wait = true};
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

json_t *consumer_plan_config(const struct consumer_plan *c)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:I,s:i,s:i,s:s,s:s}", "durable_name", c->name, "name",
                     c->name, "ack_policy", "explicit", "deliver_policy", "all", "ack_wait",
                     (json_int_t)c->ack_wait_ns, "max_deliver", c->max_deliver, "max_ack_pending",
                     c->max_ack_pending, "replay_policy", "instant", "filter_subject", c->filter);
}

json_t *consumer_plan_repair(const struct consumer_plan *c, const struct consumer_info *info,
                             char *line, size_t cap)
{
    bool deliver = c->keeps_max_deliver && info->max_deliver != c->max_deliver;
    bool wait = c->keeps_ack_wait && info->ack_wait_ns != c->ack_wait_ns;
    json_t *config = deliver || wait ? json_deep_copy(info->config) : NULL;
    if (config == NULL)
        return NULL;
    if (deliver) {
        snprintf(line, cap, "consumer %s on %s: max_deliver %lld set back to %d", c->name,
                 c->stream, (long long)info->max_deliver, c->max_deliver);
        json_object_set_new(config, "max_deliver", json_integer(c->max_deliver));
        /* The server refuses a backoff longer than max_deliver. */
        json_object_del(config, "backoff");
    } else {
        snprintf(line, cap, "consumer %s on %s: ack_wait %lld ms set to %lld ms", c->name,
                 c->stream, (long long)(info->ack_wait_ns / 1000000),
                 (long long)(c->ack_wait_ns / 1000000));
        json_object_set_new(config, "ack_wait", json_integer(c->ack_wait_ns));
    }
    return config;
}
