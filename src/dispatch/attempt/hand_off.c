/* From the staged list into AX_WORK: idempotency check, publish, and the answers to a repeated
 * hand-off (rule 6). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/attempt/ending.h"
#include "dispatch/attempt/hand_off.h"
#include "dispatch/attempt/verify.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/groups.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/lead/catch_up.h"
#include "dispatch/pool/pool.h"
#include "done/record_find.h"
#include "task/header.h"

#define GET_WAIT_MS 5000
#define AGAIN_MS 200
#define ANSWER_MIN_NS 10000000LL /* lets the smoothed time grow from nothing */
#define ANSWER_MAX_NS \
    1000000000LL         /* no road to a server usually takes longer: what does is held up */
#define ANSWER_WEIGHT 16 /* of about so many hand-offs: one pause moves it little */
#define WAKES_NS                                                                               \
    60000000000LL /* the former leader, if it was paused: what it records later is read within \
                     seconds */

static void pump_soon(void *arg)
{
    pool_pump(arg);
}

/* It does not start: what it held goes back. */
static void give_back(struct attempt *r)
{
    struct pool *p = r->pool;
    if (r->hand_off.token)
        bucket_return(&p->flow.bucket);
    attempt_use_token(r);
    groups_return(r);
    demand_give_back(&p->flow.demand, r->hand_off.pull);
    r->hand_off.pull = NULL;
    if (r->hand_off.counted)
        p->flow.inflight--;
    r->hand_off.counted = false;
    groups_ended(r);
}

/* Not now: back to the front of its queue, tried again a little later. */
static void put_back(struct attempt *r)
{
    struct pool *p = r->pool;
    give_back(r);
    queue_stage(r, true);
    loop_timer_start(p->dispatch->loop, &p->flow.timer, AGAIN_MS, pump_soon, p);
}

static void publish(struct attempt *r);

static void on_record(void *arg, ax_err err, const struct record *rec, uint64_t seq)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    uint32_t attempt;
    uint64_t work_seq;
    if (attempt_is_gone(r))
        return;
    if (err == AX_OK && rec->state == RECORD_DONE) {
        give_back(r);
        ending_drop(r);
        pool_pump(p);
    } else if (err == AX_OK) {
        publish(r); /* cancelled before: the key was free again */
    } else if (err == AX_E_NOT_FOUND && acks_was_acked(p, r->task.id, &attempt, &work_seq)) {
        /* Rule 5: acked late, and the record is not stored yet. */
        give_back(r);
        ending_finish_as(r, attempt, work_seq);
        pool_pump(p);
    } else if (err == AX_E_NOT_FOUND) {
        if (filter_check(p->dispatch->done.filter, r->task.id, strlen(r->task.id)))
            filter_was_false(p->dispatch->done.filter);
        publish(r);
    } else if (err == AX_E_PROTOCOL && seq != 0) {
        log_warn("unreadable idempotency record, task runs", "task=%s pool=%s", r->task.id,
                 p->name);
        publish(r);
    } else {
        put_back(r);
    }
}

/* One that was held up weighs no more than twice as long as they took so far: unanswered_are_due
 * goes by it. */
static void learn_answer_time(const struct attempt *r)
{
    struct pool *p = r->pool;
    int64_t took_ns = loop_now_ns(p->dispatch->loop) - r->hand_off.token_ns,
            most_ns = 2 * p->flow.answer_ns + ANSWER_MIN_NS;
    p->flow.answer_ns += ((took_ns < most_ns ? took_ns : most_ns) - p->flow.answer_ns) /
                         ANSWER_WEIGHT;
    if (p->flow.answer_ns > ANSWER_MAX_NS)
        p->flow.answer_ns = ANSWER_MAX_NS;
}

static void on_puback(void *arg, const struct answer *a)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    struct dispatch *d = p->dispatch;
    if (attempt_is_gone(r))
        return;
    if (a->err != AX_OK) {
        log_error("hand-off refused", "task=%s pool=%s err_code=%d", r->task.id, p->name,
                  a->err_code);
        put_back(r);
        return;
    }
    FAULT_IF(!a->duplicate, "hand-off.publish.after");
    FAULT_IF(a->duplicate, "hand-off.repeat.after");
    if (!a->duplicate)
        learn_answer_time(r);
    attempt_use_token(r);
    groups_use_token(r);
    r->hand_off.epoch_ns = d->work_epoch_ns;
    r->hand_off.active_ns = loop_now_ns(d->loop);
    attempt_set_work(r, a->seq);
    attempt_drop_content(r);
    if (a->duplicate) {
        /* Rule 6: it was handed off before. Adopt it if it is still there, else rule 7. The pull it
         * was meant for waits on: the server had nothing to give it. */
        demand_give_back(&p->flow.demand, r->hand_off.pull);
        r->hand_off.pull = NULL;
        pool_pump(p);
        attempt_renew(r);
        ending_limit(r, 0);
        verify_start(r);
        return;
    }
    r->hand_off.at_ns = r->hand_off.active_ns;
    metric_add(p->count.handed, 1);
    metric_observe_ns(p->count.queue_seconds, clock_ax_ns(&d->clock) - r->stored_ns);
    r->state = ATTEMPT_RUNNING;
    ending_limit(r, 0);
    if (r->task.attempt > 1) {
        FAULT("hand-off.revoke.before");
        ending_revoke(r, r->hand_off.seq);
        FAULT_SENT("hand-off.revoke.after", d->wire);
    }
    acks_take_pending(p, r);
}

void hand_off_give_up(struct dispatch *d)
{
    pipeline_give_up(d->pipeline, on_puback, attempt_is_abandoned);
}

static void publish_task(struct attempt *r, struct task *t)
{
    struct pool *p = r->pool;
    struct dispatch *d = p->dispatch;
    char subject[SUBJECT_MAX_CHARS], reply[PIPELINE_REPLY_MAX], id[256];
    natsMsg *msg = NULL;
    if (pipeline_reserve(d->pipeline, reply) != AX_OK) {
        put_back(r);
        return;
    }
    name_subject_work(subject, p->name, r->task.id);
    attempt_identity(r, "", id);
    if (t->max_retry < 0)
        t->max_retry = p->settings.max_retry;
    ax_err err = task_to_msg(t, subject, reply, &msg);
    if (err == AX_OK && (header_set(msg, HDR_MSG_ID, id) != NATS_OK ||
                         header_set(msg, HDR_LEASE, r->lease.subject) != NATS_OK)) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    r->state = ATTEMPT_HANDING;
    FAULT("hand-off.publish.before");
    /* a NULL message gives the reserved slot back */
    err = pipeline_publish(d->pipeline, reply, msg, 0, on_puback, r);
    if (err == AX_E_TOO_LONG) {
        give_back(r);
        ending_bury(r, DEAD_OTHER,
                    "too large for the server's max_payload with the headers of a hand-off");
    } else if (err != AX_OK) {
        put_back(r);
    }
}

/* Its content was not kept while it waited. */
static void on_fetched(void *arg, ax_err err, const struct stored_msg *found)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    struct task t = {0};
    if (attempt_is_gone(r))
        return;
    if (err == AX_E_NOT_FOUND || (err == AX_OK && found->time_ns != r->stored_ns)) {
        give_back(r);
        attempt_vanished(r);
        pool_pump(p);
    } else if (err != AX_OK || task_from_stored_at(&t, found->subject, found->msg, NULL) != AX_OK) {
        put_back(r);
    } else {
        publish_task(r, &t);
    }
    task_clear(&t);
}

static void publish(struct attempt *r)
{
    if (r->msg != NULL) {
        publish_task(r, &r->task);
        return;
    }
    r->state = ATTEMPT_CHECKING;
    if (pipeline_get(r->pool->dispatch->pipeline, r->queue->stream, NULL, r->queue_seq, GET_WAIT_MS,
                     on_fetched, r) != AX_OK)
        put_back(r);
}

static void look_up_record(struct attempt *r)
{
    struct dispatch *d = r->pool->dispatch;
    const struct batch_index *pages = name_is_keyed(r->task.id) ? d->done.batches : d->done.recent;
    if (record_find(d->pipeline, pages, r->task.id, GET_WAIT_MS, on_record, r) != AX_OK)
        put_back(r);
}

/* A retry, and what comes again, may have been ended by another dispatcher just now: such are few,
 * and always looked up. */
static bool may_have_ended_elsewhere(const struct attempt *r)
{
    return r->task.attempt > 1 || r->lease.redelivered;
}

/* Taken by ingress before this dispatcher led, and by the former leader, perhaps, although a server
 * that was killed and has forgotten that sends it as if it were new. */
static bool is_from_before(const struct attempt *r)
{
    return r->task.submitted < r->pool->lead.ready_ns;
}

/* Its key may lie among the dead letters of those who led before, and it may itself, fed once more
 * by such a server. For the time of a lease the former leader may still have written. */
static bool may_have_died_before(const struct attempt *r)
{
    const struct pool *p = r->pool;
    return p->lead.dead_letters &&
           r->task.submitted < p->lead.ready_ns + p->dispatch->options->lease_ttl_ms * 1000000;
}

/* The former leader heard its ack, and may be able to record that only now. */
static bool may_be_recorded_now(const struct attempt *r)
{
    const struct pool *p = r->pool;
    return is_from_before(r) && loop_now_ns(p->dispatch->loop) - p->lead.since_ns < WAKES_NS;
}

/* Ended, perhaps, by what is known here: recorded, dead, or acked and about to be recorded. */
static bool may_have_ended(const struct attempt *r)
{
    struct dispatch *d = r->pool->dispatch;
    struct record_batch_name found[BATCH_INDEX_FOUND_MAX];
    uint32_t attempt;
    uint64_t work_seq;
    return filter_check(d->done.filter, r->task.id, strlen(r->task.id)) ||
           acks_was_acked(r->pool, r->task.id, &attempt, &work_seq) ||
           (!name_is_keyed(r->task.id) && batch_index_find(d->done.recent, r->task.id, found) > 0);
}

static void on_caught_up(void *arg)
{
    struct attempt *r = arg;
    if (attempt_is_gone(r))
        return;
    if (may_have_ended_elsewhere(r) || may_have_ended(r))
        look_up_record(r);
    else
        publish(r);
}

/* Its record may be in a page that another dispatcher wrote after we read the bucket: then that is
 * read first, once for all that wait for it. */
static void look_up_ended(struct attempt *r)
{
    if (!may_have_ended_elsewhere(r) && !may_be_recorded_now(r))
        on_caught_up(r);
    else if (catch_up_when_done(r->pool->dispatch, on_caught_up, r) != AX_OK)
        put_back(r);
}

enum dead { DEAD_NOT, DEAD_LET_WAIT, DEAD_KEY };

/* Is its key dead? Another submission of it may be stored when the first has failed for good (it
 * was on its way while that ran, or stands under another priority), and so may the same one, or a
 * retry, when the answer to its publish was lost. It must not start: only what was brought back
 * from this very letter does (ax dead retry, which removes the letter afterwards). Letters without
 * a message id are submissions that ingress refused: that key has not failed. */
static enum dead is_dead(const struct attempt *r, const struct stored_msg *found)
{
    const char *id = NULL, *submitted = NULL;
    if (found == NULL || r->task.submitted == 0 || r->task.retried >= found->seq)
        return DEAD_NOT;
    natsStatus s = natsMsgHeader_Get(found->msg, HDR_MSG_ID, &id);
    if (s == NATS_OK)
        s = natsMsgHeader_Get(found->msg, HDR_SUBMITTED, &submitted);
    if (s != NATS_OK)
        return s == NATS_NO_MEMORY ? DEAD_LET_WAIT : DEAD_NOT;
    /* A letter that was put back by hand looks just so, and is about to be removed. */
    bool by_hand = r->task.attempt == 1 && r->task.retried == 0 &&
                   strtoll(submitted, NULL, 10) == r->task.submitted;
    return by_hand && !r->lease.redelivered ? DEAD_LET_WAIT : DEAD_KEY;
}

static void let_wait(struct attempt *r)
{
    metric_add(r->pool->stats.m_put_off, 1);
    wire_publish_text(r->pool->dispatch->wire, r->lease.subject, "-NAK {\"delay\":2000000000}");
    ordered_keep(r);
    attempt_free(r);
}

static void on_dead_letter(void *arg, ax_err err, const struct stored_msg *found)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    if (attempt_is_gone(r))
        return;
    if (err != AX_OK && err != AX_E_NOT_FOUND) {
        put_back(r);
        return;
    }
    bool was_buried = ending_is_dead_letter(r, found);
    enum dead dead = is_dead(r, found);
    if (!was_buried && dead == DEAD_NOT) {
        look_up_ended(r);
        return;
    }
    give_back(r);
    if (was_buried)
        ending_was_buried(r);
    else if (dead == DEAD_LET_WAIT)
        let_wait(r);
    else
        ending_drop(r);
    pool_pump(p);
}

/* It failed for good, but its queue message was not acked, and AX_WORK has forgotten its message
 * id; or its key did. */
static void look_up_dead_letter(struct attempt *r)
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject_dead(subject, r->pool->name, r->task.id);
    if (pipeline_get(r->pool->dispatch->pipeline, STREAM_DEAD, subject, 0, GET_WAIT_MS,
                     on_dead_letter, r) != AX_OK)
        put_back(r);
}

void hand_off_start(struct attempt *r)
{
    struct dispatch *d = r->pool->dispatch;
    if (r->task.expires_ns != 0 && clock_is_set(&d->clock) &&
        clock_ax_ns(&d->clock) >= r->task.expires_ns) {
        give_back(r);
        ending_bury(r, DEAD_EXPIRED, "expired");
        return;
    }
    r->state = ATTEMPT_CHECKING;
    if (may_have_ended_elsewhere(r) || may_have_died_before(r) || may_have_ended(r))
        look_up_dead_letter(r);
    else
        look_up_ended(r);
}
