/* Looking at AX_WORK before anything is concluded (rules 3 and 7).
 *
 *   hand-off there, never delivered         it only waits: renew
 *   there, delivered, ack wait not over     renew
 *   there, delivered, ack wait over         timed out
 *   gone, AX_WORK recreated meanwhile       hand off again
 *   gone, queue message still stored        a worker finished it (or terminated it, if AX_EVENTS
 *   says so)
 *   gone, queue message gone                somebody else ended it: forget it */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/consumer_info.h"
#include "bus/stream_info.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/attempt/ending.h"
#include "dispatch/attempt/terminations.h"
#include "dispatch/attempt/verify.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"

#define WAIT_MS 5000

/* No clear sight: as it was; the lease brings it back. */
static void undecided(struct attempt *r)
{
    r->state = ATTEMPT_RUNNING;
    acks_take_pending(r->pool, r);
}

/* A receipt heard while we looked says more than the look. True: it was taken. */
static bool receipt_came(struct attempt *r)
{
    struct pending_ack *e = NULL;
    HASH_FIND(hh, r->pool->acks.pending, &r->hand_off.seq, sizeof(r->hand_off.seq), e);
    if (e == NULL)
        return false;
    undecided(r);
    return true;
}

/* ---- gone: terminated? ---- */

void verify_ended_by(struct attempt *r, bool known, const char *reason)
{
    if (receipt_came(r))
        return;
    if (!known) {
        undecided(r);
    } else if (reason != NULL) {
        FAULT("look.terminated");
        ending_bury(r, DEAD_TERMINATED, reason);
    } else {
        FAULT("look.finished");
        ending_finish(r);
    }
}

/* ---- gone: the second look (rule 7) ---- */

static void on_queue_message(void *arg, ax_err err, const struct stored_msg *found)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    if (attempt_is_gone(r) || receipt_came(r))
        return;
    if (err == AX_E_NOT_FOUND || (err == AX_OK && found->time_ns != r->stored_ns)) {
        FAULT("look.ended-elsewhere");
        /* Recorded, most likely, by another dispatcher, after we had read the bucket. "Maybe" costs
         * one read. */
        filter_add(p->dispatch->done.filter, r->task.id, strlen(r->task.id),
                   clock_ax_ns(&p->dispatch->clock));
        attempt_vanished(r);
        pool_pump(p);
    } else if (err == AX_OK) {
        terminations_ask(r);
    } else {
        undecided(r);
    }
}

static void on_stream_info(void *arg, ax_err err, const struct stream_info *info)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    int64_t created_ns = err == AX_OK ? info->created_ns : 0;
    if (attempt_is_gone(r) || receipt_came(r))
        return;
    /* A node that slept and still believes that it leads knows nothing of what was stored
     * meanwhile. */
    if (created_ns == 0 ||
        (created_ns == r->hand_off.epoch_ns && info->last_seq < r->hand_off.seq)) {
        undecided(r);
    } else if (created_ns != r->hand_off.epoch_ns) {
        /* Gone must mean acked. It is another AX_WORK than the one it was handed off to: hand off
         * again. */
        log_warn("hand-off lost with its stream, again", "task=%s pool=%s", r->task.id, p->name);
        FAULT("look.recreated");
        attempt_lose(r);
        dispatch_set_epoch(p->dispatch, created_ns);
    } else if (pipeline_get(p->dispatch->pipeline, r->queue->stream, NULL, r->queue_seq, WAIT_MS,
                            on_queue_message, r) != AX_OK) {
        undecided(r);
    }
}

/* ---- there: waiting, running, or timed out? (rule 3) ---- */

static void on_consumer_info(void *arg, ax_err err, const struct consumer_info *info)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    if (attempt_is_gone(r) || receipt_came(r))
        return;
    if (err == AX_OK)
        p->consumer.ack_wait_ns = info->ack_wait_ns;
    if (err != AX_OK) {
        undecided(r);
    } else if (info->delivered_stream_seq < r->hand_off.seq ||
               loop_now_ns(p->dispatch->loop) - r->hand_off.active_ns < info->ack_wait_ns) {
        FAULT("look.waits");
        attempt_renew(r);
        undecided(r);
    } else {
        FAULT("look.timed-out");
        ending_time_out(r);
    }
}

static void on_work_message(void *arg, ax_err err, const struct stored_msg *found)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    struct dispatch *d = p->dispatch;
    struct task_subject s;
    if (attempt_is_gone(r) || receipt_came(r))
        return;
    /* A recreated stream may have another task under the same sequence. */
    bool there = err == AX_OK && name_parse_task_subject(found->subject, &s) &&
                 strcmp(s.id, r->task.id) == 0;
    if (there) {
        err = consumer_info_get(d->pipeline, d->loop, STREAM_WORK, p->name, WAIT_MS,
                                on_consumer_info, r);
    } else if (err == AX_OK || err == AX_E_NOT_FOUND) {
        err = stream_info_get(d->pipeline, d->loop, STREAM_WORK, WAIT_MS, on_stream_info, r);
    }
    if (err != AX_OK)
        undecided(r);
}

static void on_still_queued(void *arg, ax_err err, const struct stored_msg *found)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    if (attempt_is_gone(r))
        return;
    if (err == AX_E_NOT_FOUND || (err == AX_OK && found->time_ns != r->stored_ns)) {
        attempt_vanished(r);
        pool_pump(p);
    } else {
        r->state = ATTEMPT_RUNNING;
    }
}

void verify_lease(struct attempt *r)
{
    r->lease.verified_ns = loop_now_ns(r->pool->dispatch->loop);
    if (r->hand_off.seq != 0) {
        verify_start(r);
        return;
    }
    r->state = ATTEMPT_VERIFYING;
    if (pipeline_get(r->pool->dispatch->pipeline, r->queue->stream, NULL, r->queue_seq, WAIT_MS,
                     on_still_queued, r) != AX_OK)
        r->state = ATTEMPT_RUNNING;
}

void verify_start(struct attempt *r)
{
    r->state = ATTEMPT_VERIFYING;
    if (pipeline_get(r->pool->dispatch->pipeline, STREAM_WORK, NULL, r->hand_off.seq, WAIT_MS,
                     on_work_message, r) != AX_OK)
        undecided(r);
}
