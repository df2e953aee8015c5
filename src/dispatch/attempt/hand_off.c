#include "dispatch/attempt/hand_off.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/saturate.h"
#include "base/text/duration.h"
#include "bus/ack.h"
#include "bus/pipeline_get.h"
#include "dispatch/attempt/acks.h"
#include "dispatch/attempt/attempt_ask.h"
#include "dispatch/attempt/verify.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"
#include "done/record_find.h"
#include "task/header.h"

#define AGAIN_MS 200
#define LIMIT_AGAIN_MS 100
#define LYING_MS 1000
#define NAK_DEAD_MS 2000         /* its dead letter is not stored yet */
#define ANSWER_MIN_NS 10000000LL /* lets the smoothed time grow from nothing */
/* An answer rarely takes longer; one that does is being held up, and says nothing of the next. */
#define ANSWER_MAX_NS 1000000000LL
#define ANSWER_WEIGHT 16 /* of about so many hand-offs: one pause moves it little */
/* A former leader that was paused records what it had heard within seconds of its waking. */
#define WAKES_NS 60000000000LL

/* ---- facts ---- */

bool hand_off_is_expired(const struct attempt *a)
{
    struct clock *clock = &a->pool->dispatch->clock;
    return a->task.expires_ns != 0 && clock_is_set(clock) &&
           clock_ax_ns(clock) >= a->task.expires_ns;
}

/* Its key may be among the dead letters of an earlier leader. So may it itself, where a killed
 * server made the feeder bring it once more. The former leader may have written for the time of a
 * lease. */
static bool is_from_before(const struct attempt *a)
{
    const struct pool *p = a->pool;
    int64_t until_ns = p->lead.ready_ns + p->dispatch->options->lease_ttl_ms * 1000000;
    return p->lead.dead_letters && a->task.submitted < until_ns;
}

/* Taken by ingress before this dispatcher led. The former leader may have heard its ack, and be
 * able to record that only now; and a killed server may send it as if it had never been delivered.
 */
static bool may_be_recorded_now(const struct attempt *a)
{
    const struct pool *p = a->pool;
    return a->task.submitted < p->lead.ready_ns &&
           loop_now_ns(p->dispatch->loop) - p->lead.since_ns < WAKES_NS;
}

/* By what is known here: recorded, dead, or acked and about to be recorded. */
static bool may_have_ended(const struct attempt *a)
{
    struct dispatch *d = a->pool->dispatch;
    struct record_batch_name found[BATCH_INDEX_FOUND_MAX];
    return filter_check(d->done.filter, a->task.id, strlen(a->task.id)) ||
           acks_find_unrecorded(a->pool, a->task.id) != NULL ||
           (!name_is_keyed(a->task.id) && batch_index_find(d->done.recent, a->task.id, found) > 0);
}

unsigned hand_off_facts(const struct attempt *a, unsigned needed)
{
    unsigned facts = 0;
#define FACT(name, holds)                             \
    if ((needed & ATTEMPT_IS_##name) != 0 && (holds)) \
        facts |= ATTEMPT_IS_##name;
    FACT(EXPIRED, hand_off_is_expired(a))
    FACT(REPEATED, a->task.attempt > 1 || a->lease.redelivered)
    FACT(FROM_BEFORE, is_from_before(a))
    FACT(HEARD, may_have_ended(a))
    FACT(UNREAD, may_be_recorded_now(a))
    FACT(IN_MEMORY, a->msg != NULL)
    FACT(UNRECORDED, acks_find_unrecorded(a->pool, a->task.id) != NULL)
    FACT(RETRY, a->task.attempt > 1)
    FACT(HANDED_OFF, a->hand_off.seq != 0)
#undef FACT
    return facts;
}

/* ---- its turn, taken and given back ---- */

void hand_off_start(struct attempt *a, struct pull *pull, int64_t now_ns)
{
    struct pool *p = a->pool;
    a->hand_off.pull = pull;
    a->hand_off.polled = pull->polls;
    a->hand_off.token = true;
    a->hand_off.token_ns = now_ns;
    p->flow.unanswered.count++;
    a->hand_off.counted = true;
    p->flow.inflight++;
    if (p->flow.inflight > p->flow.peak)
        p->flow.peak = p->flow.inflight;
    attempt_on(a, ATTEMPT_ON_TURN,
               &(struct attempt_news){
                   .end = END_BURIED, .dead = DEAD_EXPIRED, .reason = "expired", .delay_ms = -1});
}

static void return_all(struct attempt *a)
{
    struct pool *p = a->pool;
    attempt_return_token(a);
    groups_return(a);
    demand_give_back(&p->flow.demand, a->hand_off.pull);
    a->hand_off.pull = NULL;
    if (a->hand_off.counted)
        p->flow.inflight--;
    a->hand_off.counted = false;
    groups_ended(a);
}

void hand_off_give_back(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    return_all(a);
    pump_soon(a->pool);
}

static void on_put_back_timer(void *arg)
{
    pump_soon(arg);
}

void hand_off_put_back(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    struct pool *p = a->pool;
    return_all(a);
    queue_stage(a, true);
    p->flow.put_back++;
    loop_timer_start(p->dispatch->loop, &p->flow.timer, AGAIN_MS, on_put_back_timer, p);
}

static void no_answer(struct attempt *a)
{
    attempt_on(a, ATTEMPT_ON_NO_ANSWER, NULL);
}

/* ---- is its key dead? ---- */

bool hand_off_is_own_dead_letter(const struct attempt *a, const struct stored_msg *found)
{
    const char *was = NULL;
    char id[ATTEMPT_IDENTITY_MAX];
    attempt_identity(a, ".dead", id);
    return found != NULL && natsMsgHeader_Get(found->msg, HDR_MSG_ID, &was) == NATS_OK &&
           strcmp(was, id) == 0;
}

/* Another submission of a key may be stored when the first has failed for good: it was on its way
 * meanwhile, or has another priority, or is the same message stored twice because the answer to its
 * publish was lost. It must not start. What `ax dead retry` brought back from this very dead letter
 * does start, and the dead letter is removed afterwards. A dead letter without a message id is a
 * submission that ingress refused: its key has not failed. */
static enum attempt_event judge_dead(const struct attempt *a, const struct stored_msg *found)
{
    const char *id = NULL, *submitted = NULL;
    if (hand_off_is_own_dead_letter(a, found))
        return ATTEMPT_ON_DEAD_OWN;
    if (found == NULL || a->task.submitted == 0 || a->task.retried >= found->seq)
        return ATTEMPT_ON_DEAD_NONE;
    natsStatus s = natsMsgHeader_Get(found->msg, HDR_MSG_ID, &id);
    if (s == NATS_OK)
        s = natsMsgHeader_Get(found->msg, HDR_SUBMITTED, &submitted);
    if (s != NATS_OK)
        return s == NATS_NO_MEMORY ? ATTEMPT_ON_DEAD_RETURNING : ATTEMPT_ON_DEAD_NONE;
    /* A dead letter that is being retried by hand looks like this, and is removed in a moment. */
    bool by_hand = a->task.attempt == 1 && a->task.retried == 0 &&
                   strtoll(submitted, NULL, 10) == a->task.submitted;
    return by_hand && !a->lease.redelivered ? ATTEMPT_ON_DEAD_RETURNING : ATTEMPT_ON_DEAD_KEY;
}

static void on_dead_letter(struct attempt *a, ax_err err, const struct stored_msg *found)
{
    struct dispatch *d = a->pool->dispatch;
    if (err != AX_OK && err != AX_E_NOT_FOUND) {
        attempt_on(a, ATTEMPT_ON_NO_ANSWER, &(struct attempt_news){.why = ax_err_text(err)});
        return;
    }
    enum attempt_event event = judge_dead(a, found);
    if (event == ATTEMPT_ON_DEAD_OWN)
        filter_add(d->done.filter, a->task.id, strlen(a->task.id), clock_ax_ns(&d->clock));
    attempt_on(a, event,
               &(struct attempt_news){.end = END_BURIED, .dead = DEAD_OTHER, .delay_ms = -1});
}

void hand_off_read_dead(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (!attempt_ask_dead_letter(a, on_dead_letter))
        no_answer(a);
}

void hand_off_nak_dead(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    metric_add(a->pool->stats.m_put_off, 1);
    ack_send_nak(a->pool->dispatch->wire, a->lease.subject, NAK_DEAD_MS);
}

/* ---- is it recorded? ---- */

static void on_caught_up(struct attempt *a)
{
    attempt_on(a, ATTEMPT_ON_CAUGHT_UP, NULL);
}

void hand_off_catch_up(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (!attempt_ask_catch_up(a, on_caught_up))
        no_answer(a);
}

static void on_no_record(struct attempt *a)
{
    struct pool *p = a->pool;
    struct attempt_news news = {.delay_ms = -1};
    if (!acks_news_of_unrecorded(a, &news) &&
        filter_check(p->dispatch->done.filter, a->task.id, strlen(a->task.id)))
        filter_was_false(p->dispatch->done.filter);
    attempt_on(a, ATTEMPT_ON_RECORD_NONE, &news);
}

static void on_record(struct attempt *a, ax_err err, const struct record *rec, uint64_t seq)
{
    if (err == AX_OK) {
        attempt_on(a, rec->state == RECORD_DONE ? ATTEMPT_ON_RECORD_DONE : ATTEMPT_ON_RECORD_FREE,
                   NULL);
    } else if (err == AX_E_NOT_FOUND || (err == AX_E_PROTOCOL && seq != 0)) {
        struct dispatch *d = a->pool->dispatch;
        if (err == AX_E_PROTOCOL)
            done_view_unreadable(&d->done, a->task.id, loop_now_ns(d->loop));
        on_no_record(a);
    } else {
        no_answer(a);
    }
}

void hand_off_read_record(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (!attempt_ask_record(a, on_record))
        no_answer(a);
}

/* ---- the publish ---- */

/* One that was held up weighs no more than twice as long as they took so far: the bound on
 * unanswered starts goes by it. */
static void learn_answer_time(const struct attempt *a)
{
    struct pool *p = a->pool;
    int64_t took_ns = loop_now_ns(p->dispatch->loop) - a->hand_off.token_ns;
    int64_t most_ns = 2 * p->flow.answer_ns + ANSWER_MIN_NS;
    p->flow.answer_ns += ((took_ns < most_ns ? took_ns : most_ns) - p->flow.answer_ns) /
                         ANSWER_WEIGHT;
    if (p->flow.answer_ns > ANSWER_MAX_NS)
        p->flow.answer_ns = ANSWER_MAX_NS;
}

static void too_large(struct attempt *a, const char *why)
{
    attempt_on(a, ATTEMPT_ON_TOO_LARGE,
               &(struct attempt_news){.end = END_BURIED,
                                      .dead = DEAD_OTHER,
                                      .reason = why,
                                      .delay_ms = -1,
                                      .count = a->pool->count.too_large,
                                      .judge_again = true});
}

static void on_puback(struct attempt *a, const struct answer *answer)
{
    static struct log_gate gate;
    if (answer->err_code == JSERR_HEADERS_TOO_LONG) {
        too_large(a, "headers too long for JetStream with those of a hand-off");
        return;
    }
    if (answer->err != AX_OK) {
        log_limited(&gate, loop_now_ns(a->pool->dispatch->loop), LOG_ERROR, "hand-off refused",
                    "task=%s pool=%s err_code=%d", a->task.id, a->pool->name, answer->err_code);
        no_answer(a);
        return;
    }
    FAULT_IF(!answer->duplicate, "hand-off.publish.after");
    FAULT_IF(answer->duplicate, "hand-off.repeat.after");
    attempt_on(a, answer->duplicate ? ATTEMPT_ON_DUPLICATE : ATTEMPT_ON_STORED,
               &(struct attempt_news){.seq = answer->seq});
}

static natsMsg *build(struct attempt *a, struct task *t, const char *reply)
{
    char subject[SUBJECT_MAX_CHARS], id[ATTEMPT_IDENTITY_MAX];
    natsMsg *msg = NULL;
    name_subject_work(subject, a->pool->name, a->task.id);
    attempt_identity(a, "", id);
    if (t->max_retry < 0)
        t->max_retry = a->pool->settings.max_retry;
    if (task_to_msg(t, subject, reply, &msg) == AX_OK &&
        (header_set(msg, HDR_MSG_ID, id) != NATS_OK ||
         header_set(msg, HDR_LEASE, a->lease.subject) != NATS_OK)) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    return msg;
}

void hand_off_publish(struct attempt *a, const struct attempt_news *news)
{
    char reply[PIPELINE_REPLY_MAX];
    if (pipeline_reserve(a->pool->dispatch->pipeline, reply) != AX_OK) {
        no_answer(a);
        return;
    }
    natsMsg *msg = build(a, news->task != NULL ? news->task : &a->task, reply);
    a->hand_off.time = hand_off_time_sent(&a->pool->dispatch->clock);
    a->hand_off.hearing = verify_hearing(a->pool);
    FAULT("hand-off.publish.before");
    ax_err err = attempt_ask_publish(a, reply, msg, on_puback);
    if (err == AX_E_TOO_LONG) {
        too_large(a, "too large for the server's max_payload with the headers of a hand-off");
    } else if (err != AX_OK) {
        no_answer(a);
    }
}

/* It has its hand-off, made just now or before. */
static void note_hand_off(struct attempt *a, uint64_t seq)
{
    struct dispatch *d = a->pool->dispatch;
    attempt_use_token(a);
    groups_use_token(a);
    a->hand_off.epoch_ns = d->work_epoch_ns;
    a->hand_off.active_ns = a->hand_off.known_ns = loop_now_ns(d->loop);
    attempt_set_work(a, seq);
    a->hand_off.time.answered_ns = a->hand_off.active_ns;
    acks_on_hand_off(a);
    attempt_drop_content(a);
}

void hand_off_begin(struct attempt *a, const struct attempt_news *news)
{
    struct pool *p = a->pool;
    learn_answer_time(a);
    note_hand_off(a, news->seq);
    a->hand_off.at_ns = a->hand_off.active_ns;
    metric_add(p->count.handed, 1);
    metric_observe_ns(p->count.queue_seconds,
                      saturate_sub(clock_ax_ns(&p->dispatch->clock), a->stored_ns));
    hand_off_limit(a, 0);
}

/* The pull it was meant for waits on: the server had nothing to give it. */
void hand_off_begin_again(struct attempt *a, const struct attempt_news *news)
{
    struct pool *p = a->pool;
    a->hand_off.time = hand_off_time_since(&p->dispatch->clock, a->stored_ns);
    a->hand_off.hearing = 0;
    note_hand_off(a, news->seq);
    demand_give_back(&p->flow.demand, a->hand_off.pull);
    a->hand_off.pull = NULL;
    pump_soon(p);
    attempt_renew(a);
    hand_off_limit(a, 0);
}

void hand_off_revoke(const struct attempt *a, uint64_t fence)
{
    char subject[SUBJECT_MAX_CHARS], token[24];
    snprintf(subject, sizeof(subject), "ax.revoke.%s.%s", a->pool->name, a->task.id);
    snprintf(token, sizeof(token), "%" PRIu64, fence);
    wire_publish_text(a->pool->dispatch->wire, subject, token);
}

void hand_off_revoke_older(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    FAULT("hand-off.revoke.before");
    hand_off_revoke(a, a->hand_off.seq);
    FAULT_SENT("hand-off.revoke.after", a->pool->dispatch->wire);
}

/* ---- Ax-Timeout ---- */

static void on_limit(void *arg);

/* The clock runs from the hand-off. What lies in AX_WORK still has not run. */
static bool may_lie_there(const struct attempt *a)
{
    return a->state == ATTEMPT_RUNNING && a->hand_off.heard_ns == 0 &&
           a->hand_off.seq > a->pool->consumer.delivered_seq;
}

/* It is taken back, or found to be with a worker; for one that polls it lies on. */
static void verify_lying(struct attempt *a)
{
    a->hand_off.overrun = true;
    loop_timer_start(a->pool->dispatch->loop, &a->hand_off.limit,
                     a->hand_off.polled ? LYING_MS : LIMIT_AGAIN_MS, on_limit, a);
    attempt_on(a, ATTEMPT_ON_UNFETCHED, NULL);
}

static void on_limit(void *arg)
{
    struct attempt *a = arg;
    char took[48], why[120];
    if (may_lie_there(a)) {
        verify_lying(a);
        return;
    }
    if (a->hand_off.overrun && a->hand_off.polled) { /* its worker has come by now */
        a->hand_off.overrun = a->hand_off.polled = false;
        hand_off_limit(a, 0);
        return;
    }
    snprintf(why, sizeof(why), "ran longer than its timeout of %s",
             duration_format(a->task.timeout_ms, took));
    attempt_on(a, ATTEMPT_ON_OVERRAN,
               &(struct attempt_news){.end = END_FAILED,
                                      .dead = DEAD_FAILED,
                                      .reason = why,
                                      .delay_ms = -1,
                                      .count = a->pool->count.overran,
                                      .overload = true});
}

void hand_off_limit(struct attempt *a, int64_t ran_ms)
{
    if (a->task.timeout_ms <= 0)
        return;
    int64_t left_ms = saturate_sub(a->task.timeout_ms, ran_ms);
    loop_timer_start(a->pool->dispatch->loop, &a->hand_off.limit, left_ms > 0 ? left_ms : 0,
                     on_limit, a);
}

void hand_off_limit_again(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    loop_timer_start(a->pool->dispatch->loop, &a->hand_off.limit, LIMIT_AGAIN_MS, on_limit, a);
}
