#include "ingress/ingress.h"

#include <stdio.h>

#include "base/log.h"
#include "bus/provision/provisioner.h"
#include "bus/stream_info.h"
#include "bus/wire.h"
#include "ingress/key_index.h"
#include "ingress/pools.h"
#include "ingress/queue/foreign.h"
#include "ingress/queue/queue.h"
#include "ingress/queue/shares.h"
#include "ingress/record_query.h"
#include "ingress/schedules.h"
#include "ingress/stats_reply.h"
#include "ingress/submit/submit.h"
#include "ingress/submit/submits.h"
#include "ingress/sweep.h"

/* Slots beside the submissions': feeders, readers, submissions without reply subject. */
#define PIPELINE_EXTRA 4096
#define DRAIN_POLL_MS 20
#define OPEN_WAIT_MS 1000
#define SUBS 2

static const char *const subjects[SUBS] = {SUBMIT_ANY, SUBMIT_PREFIX ">"};

static void on_submission(void *arg, natsMsg *msg)
{
    submit_take(arg, msg);
}

/* A server handles what one connection sends in order: the subscriptions made before this question
 * exist, and whoever finds ingress ready finds it listening. */
static void on_server_answered(void *arg, ax_err err, const struct stream_info *info)
{
    struct ingress *ing = arg;
    (void)info;
    ing->opening = false;
    if (ing->closing || err == AX_E_TIMEOUT)
        return;
    ing->open = true;
    char list[PRIORITIES_MAX * (NAME_MAX_CHARS + 2) + 1];
    log_info("taking submissions", "subject=ax.submit.> priorities=\"%s\"",
             queues_list(ing, list, sizeof(list)));
}

static void open_subscriptions(struct ingress *ing)
{
    /* Ax-Submitted orders tasks across instances, so there is none before the clock is known. */
    if (ing->open || ing->opening || ing->closing || !clock_is_set(ing->clock) ||
        ing->queues == NULL)
        return;
    for (int i = 0; i < SUBS; i++) {
        if (ing->subs[i] != NULL)
            continue;
        ax_err err = wire_subscribe(ing->wire, &ing->subs[i], subjects[i], INGRESS_QUEUE_GROUP,
                                    on_submission, ing);
        if (err != AX_OK) {
            log_error("cannot subscribe, trying again", "subject=%s error=\"%s\"", subjects[i],
                      ax_err_text(err));
            return;
        }
    }
    ing->opening = stream_info_get(ing->pipe, ing->loop, STREAM_POOLS, OPEN_WAIT_MS,
                                   on_server_answered, ing) == AX_OK;
}

static void try_open(void *arg)
{
    struct ingress *ing = arg;
    open_subscriptions(ing);
    if (!ing->open && !ing->closing)
        loop_timer_start(ing->loop, &ing->drain_timer, DRAIN_POLL_MS, try_open, ing);
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

/* Nothing that nats.c has taken off the socket for us and not handed over yet. */
static bool subs_are_drained(const struct ingress *ing)
{
    for (int i = 0; i < SUBS; i++) {
        /* Without a connection the drain waits for a server that may never come back. */
        if (ing->subs[i] != NULL && !wire_is_drained(ing->wire, ing->subs[i], ing->connected))
            return false;
    }
    return true;
}

static void poll_drained(void *arg)
{
    struct ingress *ing = arg;
    int working = submits_in_flight(ing->submits) + queues_in_flight(ing);
    bool written = !ing->connected || wire_is_flushed(ing->wire);
    if (subs_are_drained(ing) && working == 0 && written) {
        log_info("stopped, nothing left in flight", NULL);
        loop_stop(ing->loop);
    } else if (loop_now_ns(ing->loop) >= ing->drain_until_ns) {
        log_warn("stopped with work unfinished; its producers had no answer yet", "working=%d",
                 working);
        loop_stop(ing->loop);
    } else {
        loop_timer_start(ing->loop, &ing->drain_timer, DRAIN_POLL_MS, poll_drained, ing);
    }
}

void ingress_drain(struct ingress *ing, int64_t limit_ms)
{
    ing->closing = true;
    provisioner_stop(ing->provisioner);
    ing->drain_until_ns = loop_now_ns(ing->loop) + limit_ms * 1000000;
    for (int i = 0; i < SUBS; i++) {
        if (ing->subs[i] != NULL)
            wire_drain(ing->wire, ing->subs[i], limit_ms);
    }
    ing->open = false;
    queues_close(ing);
    loop_timer_start(ing->loop, &ing->drain_timer, 0, poll_drained, ing);
}

bool ingress_is_ready(void *arg, char *why, unsigned long cap)
{
    struct ingress *ing = arg;
    const char *reason = NULL;
    loop_enter(ing->loop);
    if (ing->closing)
        reason = "stopping";
    else if (!ing->connected)
        reason = "not connected to NATS";
    else if (!ing->open)
        reason = "waiting for the streams";
    loop_leave(ing->loop);
    if (reason != NULL)
        snprintf(why, cap, "%s", reason);
    return reason == NULL;
}
