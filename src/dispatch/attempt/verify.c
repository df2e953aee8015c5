#include "dispatch/attempt/verify.h"

#include <inttypes.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/ack.h"
#include "bus/pipeline_get.h"
#include "dispatch/attempt/acks.h"
#include "dispatch/attempt/attempt_ask.h"
#include "dispatch/attempt/hand_off.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"

static void no_answer(struct attempt *a)
{
    attempt_on(a, ATTEMPT_ON_NO_ANSWER, NULL);
}

/* A recreated stream may have another task under the same sequence. */
static bool is_there(const struct attempt *a, const struct stored_msg *found)
{
    struct task_subject s;
    return name_parse_task_subject(found->subject, &s) && strcmp(s.id, a->task.id) == 0;
}

static void on_hand_off(struct attempt *a, ax_err err, const struct stored_msg *found)
{
    if (err == AX_OK && is_there(a, found)) {
        a->hand_off.time.stored_ns = found->time_ns; /* from now on acks name this very time */
        acks_refuse_misfits(a);
        attempt_on(a, ATTEMPT_ON_HAND_OFF_THERE, NULL);
    } else if (err == AX_OK || err == AX_E_NOT_FOUND)
        attempt_on(a, ATTEMPT_ON_HAND_OFF_GONE, NULL);
    else
        no_answer(a);
}

void verify_read_hand_off(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (!attempt_ask_message(a, STREAM_WORK, NULL, a->hand_off.seq, on_hand_off))
        no_answer(a);
}

/* ---- there: waiting, running, or timed out? ---- */

bool verify_wants_back(const struct attempt *a)
{
    const struct pool *p = a->pool;
    if (a->hand_off.heard_ns != 0)
        return false; /* a worker has it, whatever a consumer says that was made anew */
    int64_t lies_ns = loop_now_ns(p->dispatch->loop) - a->hand_off.known_ns;
    return hand_off_is_expired(a) || p->paused ||
           (!a->hand_off.polled && (a->hand_off.overrun || lies_ns >= p->consumer.ack_wait_ns));
}

static void take_back(struct attempt *a)
{
    bool expired = hand_off_is_expired(a);
    a->hand_off.unfetched = true;
    FAULT_IF(expired, "look.expired");
    FAULT_IF(!expired, "look.taken-back");
    log_debug("nobody fetched it, taken back", "task=%s pool=%s expired=%d", a->task.id,
              a->pool->name, expired);
    attempt_on(a, ATTEMPT_ON_NOT_FETCHED,
               &(struct attempt_news){.end = expired ? END_BURIED : END_GIVEN_BACK,
                                      .dead = DEAD_EXPIRED,
                                      .reason = expired ? "expired" : "nobody fetched it",
                                      .delay_ms = 0,
                                      .count = a->pool->count.taken_back});
}

static void on_consumer(struct attempt *a, ax_err err, const struct consumer_info *info)
{
    struct pool *p = a->pool;
    if (err != AX_OK) {
        no_answer(a);
        return;
    }
    p->consumer.ack_wait_ns = info->ack_wait_ns;
    p->consumer.delivered_seq = info->delivered_stream_seq;
    bool delivered = info->delivered_stream_seq >= a->hand_off.seq;
    if (!delivered && (a->hand_off.removed || verify_wants_back(a))) {
        take_back(a);
        return;
    }
    int64_t silent_ns = loop_now_ns(p->dispatch->loop) - a->hand_off.active_ns;
    bool waits = !delivered || silent_ns < info->ack_wait_ns;
    FAULT_IF(waits, "look.waits");
    FAULT_IF(!waits, "look.timed-out");
    attempt_on(a, waits ? ATTEMPT_ON_STILL_WAITS : ATTEMPT_ON_SILENT,
               &(struct attempt_news){.end = END_TIMED_OUT,
                                      .dead = DEAD_TIMED_OUT,
                                      .reason = "no receipt within ack wait",
                                      .delay_ms = -1,
                                      .count = p->count.timeouts,
                                      .overload = true});
}

void verify_read_consumer(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (!attempt_ask_consumer(a, on_consumer))
        no_answer(a);
}

#define OVER (INT64_MIN / 2) /* active_ns: the server itself says that ack wait is over */

void verify_end_activity(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    a->hand_off.active_ns = OVER;
}

void verify_forgive_silence(struct attempt *a, int64_t now_ns)
{
    if (a->hand_off.active_ns != OVER)
        a->hand_off.active_ns = now_ns;
}

/* ---- gone: with its stream? ---- */

static void on_stream(struct attempt *a, ax_err err, const struct stream_info *info)
{
    int64_t created_ns = err == AX_OK ? info->created_ns : 0; /* 0: not told */
    if (err == AX_OK)
        a->pool->dispatch->clustered = info->clustered;
    /* A node that slept and still believes that it leads knows nothing of what was stored since. */
    bool stale = created_ns != 0 && created_ns == a->hand_off.epoch_ns &&
                 info->last_seq < a->hand_off.seq;
    if (created_ns == 0 || stale)
        no_answer(a);
    else if (created_ns == a->hand_off.epoch_ns)
        attempt_on(a, ATTEMPT_ON_SAME_STREAM, NULL);
    else
        attempt_on(a, ATTEMPT_ON_OTHER_STREAM, &(struct attempt_news){.ns = created_ns});
}

void verify_read_stream(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (!attempt_ask_stream(a, on_stream))
        no_answer(a);
}

/* "Gone" must mean acked, and says nothing of a hand-off whose AX_WORK is gone: its queue message
 * is asked for, and handed off again when it comes. */
void verify_lose(struct attempt *a, const struct attempt_news *news)
{
    struct pool *p = a->pool;
    attempt_uncount(a);
    attempt_set_work(a, 0);
    a->lease.redelivered = true; /* looked up again before it starts anew */
    FAULT("lose.nak.before");
    ack_send_nak(p->dispatch->wire, a->lease.subject, 0);
    FAULT_SENT("lose.nak.after", p->dispatch->wire);
    a->queue->expired_leases++;
    if (news->ns == 0)
        return;
    log_warn("hand-off lost with its stream, again", "task=%s pool=%s", a->task.id, p->name);
    FAULT("look.recreated");
    dispatch_set_epoch(p->dispatch, news->ns);
}

/* ---- gone: the second look (rule 7) ---- */

static void on_queue_message(struct attempt *a, ax_err err, const struct stored_msg *found)
{
    struct dispatch *d = a->pool->dispatch;
    bool gone = err == AX_E_NOT_FOUND || (err == AX_OK && found->time_ns != a->stored_ns);
    if (!gone && err != AX_OK) {
        no_answer(a);
        return;
    }
    if (gone) {
        FAULT("look.ended-elsewhere");
        /* Recorded, most likely, by another dispatcher, after we had read the bucket. "Maybe"
         * costs one read. */
        filter_add(d->done.filter, a->task.id, strlen(a->task.id), clock_ax_ns(&d->clock));
    }
    attempt_on(a, gone ? ATTEMPT_ON_QUEUE_GONE : ATTEMPT_ON_QUEUE_THERE, NULL);
}

void verify_read_queue(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (!attempt_ask_message(a, a->queue->stream, NULL, a->queue_seq, on_queue_message))
        no_answer(a);
}

static void on_termination(struct attempt *a, bool known, const char *reason)
{
    if (!known) {
        no_answer(a);
        return;
    }
    FAULT_IF(reason != NULL, "look.terminated");
    FAULT_IF(reason == NULL, "look.finished");
    attempt_on(a, reason != NULL ? ATTEMPT_ON_TERMINATED : ATTEMPT_ON_FINISHED,
               &(struct attempt_news){.end = reason != NULL ? END_BURIED : END_DONE,
                                      .dead = DEAD_TERMINATED,
                                      .reason = reason,
                                      .delay_ms = -1});
}

void verify_read_termination(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (!attempt_ask_termination(a, on_termination))
        no_answer(a);
}

/* ---- gone, and no ack was heard ---- */

void verify_say_removed(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    static struct log_gate gate;
    struct pool *p = a->pool;
    if (a->hand_off.removed)
        return;
    a->hand_off.removed = true;
    metric_add(p->count.removed, 1);
    log_limited(&gate, loop_now_ns(p->dispatch->loop), LOG_WARN,
                "hand-off was deleted from AX_WORK, and nobody has acked it: not done",
                "task=%s pool=%s fence=%" PRIu64, a->task.id, p->name, a->hand_off.seq);
}

void verify_say_unheard(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    static struct log_gate gate;
    struct pool *p = a->pool;
    metric_add(p->count.unheard, 1);
    log_limited(&gate, loop_now_ns(p->dispatch->loop), LOG_WARN,
                "hand-off is gone from AX_WORK, and no ack was heard: taken for done",
                "task=%s pool=%s fence=%" PRIu64, a->task.id, p->name, a->hand_off.seq);
}

uint64_t verify_hearing(const struct pool *p)
{
    return wire_connections(p->dispatch->wire) + p->acks.pending.lost;
}

/* One server stores AX_WORK, it has sent us acks, and nothing that it sent since this hand-off was
 * missed: it would have sent us the worker's ack before it removed the hand-off. In a cluster an
 * ack may reach the stream's leader and not us. */
static bool would_be_heard(const struct attempt *a)
{
    const struct dispatch *d = a->pool->dispatch;
    return !d->clustered && a->hand_off.hearing != 0 &&
           a->hand_off.hearing == verify_hearing(a->pool) &&
           d->acks_heard_on == wire_connections(d->wire);
}

unsigned verify_facts(const struct attempt *a, unsigned needed)
{
    return (needed & ATTEMPT_IS_UNHEARD) != 0 && would_be_heard(a) ? ATTEMPT_IS_UNHEARD : 0u;
}
