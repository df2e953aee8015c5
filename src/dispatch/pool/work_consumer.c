#include "dispatch/pool/work_consumer.h"

#include <stdio.h>

#include "base/log.h"
#include "bus/consumer_info.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"

#define WAIT_MS 3000

void work_consumer_set_paused(struct pool *p)
{
    const char *by = work_consumer_paused_by(p);
    bool paused = by != NULL;
    if (paused != p->paused) {
        log_info(paused ? "pool paused" : "pool goes on", "pool=%s by=%s", p->name,
                 paused ? by : "none");
    }
    p->paused = paused;
    metric_set(p->count.paused, paused);
}

const char *work_consumer_paused_by(const struct pool *p)
{
    return p->entry.unread      ? "unreadable"
           : p->settings.paused ? "settings"
           : p->consumer.paused ? "consumer"
                                : NULL;
}

void work_consumer_provisioned(struct pool *p)
{
    if (p->consumer.why_failed[0] != '\0')
        log_info("pool provisioned after all", "pool=%s", p->name);
    p->consumer.provisioned = true;
    p->consumer.why_failed[0] = '\0';
}

void work_consumer_failed(struct pool *p, const struct problem *problem)
{
    const char *why = problem->text[0] != '\0' ? problem->text : ax_err_text(problem->err);
    snprintf(p->consumer.why_failed, sizeof(p->consumer.why_failed), "%.159s", why);
}

/* An operator changed what the provisioner follows, keeps or puts back, or it was made anew. */
static bool has_changed(const struct pool *p, const struct consumer_info *info,
                        int64_t max_ack_pending)
{
    if (info->max_deliver != 1 || info->ack_wait_ns != p->consumer.followed_ns ||
        json_array_size(json_object_get(info->config, "backoff")) > 0)
        return true;
    return p->consumer.told_ns != 0 &&
           (max_ack_pending != p->consumer.max_ack_pending || info->paused != p->consumer.paused);
}

static void on_info(void *arg, ax_err err, const struct consumer_info *info)
{
    struct pool *p = arg;
    int64_t now = loop_now_ns(p->dispatch->loop);
    p->consumer.asking = false;
    if (err != AX_OK) {
        p->consumer.followed_ns = 0;
        dispatch_kick_pool(p->dispatch, p); /* no such consumer, or no leader */
    } else {
        int64_t max = info->max_ack_pending > 0 ? info->max_ack_pending : INT64_MAX;
        if (has_changed(p, info, max))
            dispatch_kick_pool(p->dispatch, p);
        p->consumer.max_ack_pending = max;
        p->consumer.delivered_seq = info->delivered_stream_seq;
        p->consumer.followed_ns = info->ack_wait_ns;
        p->consumer.ack_wait_ns = info->ack_wait_ns;
        if (p->flow.demand.changes == p->consumer.changes) {
            demand_reconcile(&p->flow.demand, info->num_waiting, info->num_pending,
                             p->settings.batch, now);
        }
        p->consumer.paused = info->paused;
        work_consumer_set_paused(p);
        p->consumer.told_ns = now;
    }
    pump_soon(p);
}

void work_consumer_read(struct pool *p)
{
    struct dispatch *d = p->dispatch;
    if (p->consumer.asking)
        return;
    p->consumer.changes = p->flow.demand.changes;
    p->consumer.asking = consumer_info_get(d->pipeline, d->loop, STREAM_WORK, p->name, WAIT_MS,
                                           on_info, p) == AX_OK;
}
