#include "ingress/ingress.h"

#include <stdio.h>

#include "base/log.h"
#include "bus/provision/provisioner.h"
#include "bus/wire.h"
#include "ingress/arrivals.h"
#include "ingress/door/account.h"
#include "ingress/key_index.h"
#include "ingress/pools.h"
#include "ingress/queue/foreign.h"
#include "ingress/queue/queue.h"
#include "ingress/queue/shares.h"
#include "ingress/record_query.h"
#include "ingress/schedules.h"
#include "ingress/stats_reply.h"
#include "ingress/submit/submits.h"
#include "ingress/sweep.h"

/* Slots beside the submissions': feeders, readers, submissions without reply subject. */
#define PIPELINE_EXTRA 4096
#define DRAIN_POLL_MS 20
#define READY_WAIT_MS 1000 /* of who asks */

static void on_opened(struct ingress *ing)
{
    char list[PRIORITIES_MAX * (NAME_MAX_CHARS + 2) + 1];
    log_info("taking submissions", "subject=ax.submit.> priorities=\"%s\"",
             queues_list(ing, list, sizeof(list)));
}

/* Ax-Submitted orders tasks across instances, so there is none before the clock is known. */
static void try_open(void *arg)
{
    struct ingress *ing = arg;
    if (ing->closing || ing->opening)
        return;
    ing->opening = clock_is_set(ing->clock) && ing->queues != NULL;
    if (ing->opening)
        arrivals_open(ing->arrivals, on_opened);
    else
        loop_timer_start(ing->loop, &ing->drain.timer, DRAIN_POLL_MS, try_open, ing);
}

static void on_priorities(void *arg, const struct priorities *ps)
{
    struct ingress *ing = arg;
    if (!ing->closing)
        queues_update(ing, ps);
}

static void on_streams_created(void *arg)
{
    struct ingress *ing = arg;
    pools_refresh(ing->pools);
    key_index_refresh(ing->key_index);
}

static ax_err start_provisioner(struct ingress *ing)
{
    const struct provisioner_config config = {
        .replicas = (int)ing->options->replicas,
        .feeders = true,
        .warns_of_replicas = true,
        .trouble = "cannot see to the streams, trying again",
        .priorities = on_priorities,
        .streams_created = on_streams_created,
        .arg = ing,
    };
    return provisioner_start(&ing->provisioner, ing->wire, ing->pipe, &config);
}

void ingress_disconnected(void *arg)
{
    struct ingress *ing = arg;
    loop_enter(ing->loop);
    ing->connected = false;
    if (ing->key_index != NULL)
        key_index_disconnected(ing->key_index);
    loop_leave(ing->loop);
}

void ingress_reconnected(void *arg)
{
    struct ingress *ing = arg;
    loop_enter(ing->loop);
    ing->connected = true;
    if (ing->provisioner != NULL) { /* otherwise the start is still under way */
        pipeline_reconnected(ing->pipe);
        key_index_reconnected(ing->key_index);
        pools_refresh(ing->pools);
        queues_reconnected(ing);
        submits_retry(ing->submits);
        provisioner_kick(ing->provisioner);
    }
    loop_leave(ing->loop);
}

ax_err ingress_start(struct ingress *ing, struct problem *p)
{
    counters_register(&ing->counters);
    replies_init(&ing->replies, ing->loop, ing->options, "ax_ingress_replies_refused_total");
    later_init(&ing->later);
    loop_enter(ing->loop);
    ing->connected = true;
    ax_err err = pipeline_new(&ing->pipe, ing->wire, ing->loop,
                              (int)ing->options->inflight + PIPELINE_EXTRA);
    if (err == AX_OK)
        err = submits_new(&ing->submits, ing);
    if (err == AX_OK) {
        err = account_new(&ing->account, ing->options->max_memory_bytes,
                          ing->options->pool_submit_rate);
    }
    if (err == AX_OK)
        err = arrivals_start(ing->arrivals);
    if (err == AX_OK)
        try_open(ing);
    if (err == AX_OK)
        err = pools_start(&ing->pools, ing);
    if (err == AX_OK)
        err = schedules_start(&ing->schedules, ing);
    if (err == AX_OK)
        err = sweep_start(&ing->sweep, ing);
    if (err == AX_OK)
        err = key_index_start(&ing->key_index, ing);
    if (err == AX_OK)
        err = record_query_start(ing);
    if (err == AX_OK)
        err = stats_reply_start(ing);
    if (err == AX_OK)
        err = shares_start(ing);
    if (err == AX_OK)
        err = foreign_start(ing);
    if (err == AX_OK)
        err = start_provisioner(ing);
    loop_leave(ing->loop);
    return err == AX_OK ? AX_OK : problem_set(p, err, "cannot start: %s", ax_err_text(err));
}

static void poll_drained(void *arg)
{
    struct ingress *ing = arg;
    int working = submits_in_flight(ing->submits) + queues_in_flight(ing);
    bool written = !ing->connected || wire_is_flushed(ing->wire);
    if (arrivals_are_drained(ing->arrivals) && working == 0 && written) {
        log_info("stopped, nothing left in flight", NULL);
        loop_stop(ing->loop);
    } else if (loop_now_ns(ing->loop) >= ing->drain.until_ns) {
        log_warn("stopped with work unfinished; its producers had no answer yet", "working=%d",
                 working);
        loop_stop(ing->loop);
    } else {
        loop_timer_start(ing->loop, &ing->drain.timer, DRAIN_POLL_MS, poll_drained, ing);
    }
}

void ingress_drain(struct ingress *ing, int64_t limit_ms)
{
    ing->closing = true;
    provisioner_stop(ing->provisioner);
    ing->drain.until_ns = loop_now_ns(ing->loop) + limit_ms * 1000000;
    arrivals_drain(ing->arrivals, limit_ms);
    queues_close(ing);
    loop_timer_start(ing->loop, &ing->drain.timer, 0, poll_drained, ing);
}

bool ingress_is_ready(void *arg, char *why, unsigned long cap)
{
    struct ingress *ing = arg;
    const char *reason = NULL;
    if (loop_stands_still(ing->loop, why, cap))
        return false;
    if (!loop_enter_within(ing->loop, READY_WAIT_MS)) {
        snprintf(why, cap, "the loop is busy");
        return false;
    }
    if (ing->closing)
        reason = "stopping";
    else if (!ing->connected)
        reason = "not connected to NATS";
    else if (!arrivals_are_open(ing->arrivals))
        reason = "waiting for the streams";
    loop_leave(ing->loop);
    if (reason != NULL)
        snprintf(why, cap, "%s", reason);
    return reason == NULL;
}
