#include "dispatch/attempt/ending.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/saturate.h"
#include "base/text/plural.h"
#include "base/text/rfc3339.h"
#include "bus/pipeline_get.h"
#include "dispatch/attempt/acks.h"
#include "dispatch/attempt/attempt_ask.h"
#include "dispatch/attempt/hand_off.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"
#include "task/backoff.h"
#include "task/header.h"
#include "task/task_stored.h"

#define DELETE_WAIT_MS 5000

/* What the server's limit of now decided is judged by that of then, when the lease has come back.
 */
static void no_answer(struct attempt *a, const char *why)
{
    if (a->end.judge_again && !a->end.written)
        a->end.decided = false;
    attempt_on(a, ATTEMPT_ON_NO_ANSWER, &(struct attempt_news){.why = why});
}

/* ---- facts ---- */

/* This attempt included, if it failed. */
static int64_t failures(const struct task *t)
{
    return (int64_t)t->attempt - t->timeouts - t->given_back;
}

/* A time-out is the worker's death, not the task's failure: it has a limit of its own. What no
 * worker has had has not failed at all. */
static bool had_enough(const struct attempt *a, const struct task *t)
{
    const struct settings *s = &a->pool->settings;
    if (a->end.kind == END_BURIED || a->end.kind == END_GIVEN_BACK)
        return a->end.kind == END_BURIED;
    if (a->end.kind == END_TIMED_OUT)
        return t->timeouts + 1 > s->max_timeouts;
    int64_t max_retry = t->max_retry >= 0 ? t->max_retry : s->max_retry;
    return failures(t) > max_retry;
}

static const struct task *content(const struct attempt *a, const struct attempt_news *news)
{
    return news->task != NULL ? news->task : &a->task;
}

unsigned ending_facts(const struct attempt *a, unsigned needed, const struct attempt_news *news)
{
    unsigned facts = 0;
#define FACT(name, holds)                             \
    if ((needed & ATTEMPT_IS_##name) != 0 && (holds)) \
        facts |= ATTEMPT_IS_##name;
    FACT(DECIDED, a->end.decided)
    FACT(DONE, a->end.decided && a->end.kind == END_DONE)
    FACT(TIMED_OUT, a->end.kind == END_TIMED_OUT)
    FACT(WRITTEN, a->end.written)
    FACT(ENOUGH, had_enough(a, content(a, news)))
#undef FACT
    return facts;
}

/* ---- deciding ---- */

void ending_decide(struct attempt *a, const struct attempt_news *news)
{
    struct pool *p = a->pool;
    struct attempt_ending *e = &a->end;
    e->kind = news->end;
    e->decided = true;
    e->written = false;
    e->judge_again = news->judge_again;
    e->replaces = 0;
    e->delay_ms = news->delay_ms;
    e->why = news->dead;
    snprintf(e->reason, sizeof(e->reason), "%s", news->reason != NULL ? news->reason : "");
    e->attempt = news->attempt != 0 ? news->attempt : a->task.attempt;
    e->fence = news->attempt != 0 ? news->fence : a->hand_off.seq;
    e->cancelled = news->cancelled;
    e->cancel_arg = news->cancel_arg;
    if (news->count != NULL)
        metric_add(news->count, 1);
    if (news->overload)
        adapt_timed_out(&p->adapt);
    attempt_uncount(a);
    pump_soon(p);
}

/* Whatever comes next has at least this token. */
void ending_revoke(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (a->hand_off.seq == 0)
        return;
    FAULT("ending.revoke.before");
    hand_off_revoke(a, a->hand_off.seq + 1);
    FAULT_SENT("ending.revoke.after", a->pool->dispatch->wire);
}

/* ---- done: the record, then the queue message ---- */

static void on_recorded(struct attempt *a, const struct answer *answer)
{
    if (answer->err == AX_OK)
        attempt_on(a, ATTEMPT_ON_RECORDED, NULL);
    else
        no_answer(a, answer->err == AX_E_SERVER ? answer->description : ax_err_text(answer->err));
}

void ending_record(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    FAULT("finish.record.before");
    if (!attempt_ask_recording(a, on_recorded))
        no_answer(a, "out of memory");
}

void ending_ack_done(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    struct dispatch *d = a->pool->dispatch;
    metric_add(a->pool->count.done, 1);
    FAULT("finish.record.after");
    /* If it is lost the message is redelivered, and dropped. */
    wire_publish(d->wire, a->lease.subject, "", 0);
    FAULT_SENT("finish.ack.after", d->wire);
}

/* Done before, or dead: the queue message only. */
void ending_ack_dropped(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    struct dispatch *d = a->pool->dispatch;
    metric_add(a->pool->count.duplicates, 1);
    FAULT("drop.ack.before");
    wire_publish(d->wire, a->lease.subject, "", 0);
    FAULT_SENT("drop.ack.after", d->wire);
}

/* ---- failed: AX_LATER or AX_DEAD, then the queue message, then the hand-off ---- */

static void on_content(struct attempt *a, ax_err err, const struct stored_msg *found)
{
    struct task t = {0};
    if (err == AX_E_NOT_FOUND || (err == AX_OK && found->time_ns != a->stored_ns)) {
        attempt_on(a, ATTEMPT_ON_QUEUE_GONE, NULL);
        return;
    }
    if (err == AX_OK)
        err = task_stored_read_at(&t, found->subject, found->msg, NULL);
    if (err == AX_OK) {
        snprintf(t.priority, sizeof(t.priority), "%s", a->queue->priority);
        snprintf(t.pool, sizeof(t.pool), "%s", a->pool->name);
        snprintf(t.id, sizeof(t.id), "%s", a->task.id);
        struct attempt_news news = {.task = &t, .delay_ms = -1};
        acks_news_of_unrecorded(a, &news);
        attempt_on(a, ATTEMPT_ON_CONTENT, &news);
    } else {
        no_answer(a, ax_err_text(err));
    }
    task_clear(&t);
}

void ending_read_content(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    if (!attempt_ask_message(a, a->queue->stream, NULL, a->queue_seq, on_content))
        no_answer(a, "pipeline full");
}

static void on_written(struct attempt *a, const struct answer *answer)
{
    bool dead = a->state == ATTEMPT_WRITING_DEAD_LETTER;
    FAULT_IF(answer->err == AX_OK && dead, "dead.publish.after");
    FAULT_IF(answer->err == AX_OK && !dead, "later.publish.after");
    if (answer->err == AX_OK) {
        bool known = answer->duplicate && answer->tries == 1;
        attempt_on(a, ATTEMPT_ON_STORED, &(struct attempt_news){.known = known});
    } else if (!dead && answer->err_code == JSERR_WRONG_LAST_SEQ) {
        attempt_on(a, ATTEMPT_ON_PLACE_TAKEN, NULL);
    } else {
        no_answer(a, answer->err == AX_E_SERVER ? answer->description : ax_err_text(answer->err));
    }
}

/* Publishes t under subject with these headers beside its own. */
static void write_next(struct attempt *a, const struct task *t, const char *subject,
                       const char *const headers[][2], int count)
{
    char reply[PIPELINE_REPLY_MAX];
    natsMsg *msg = NULL;
    if (pipeline_reserve(a->pool->dispatch->pipeline, reply) != AX_OK) {
        no_answer(a, "pipeline full");
        return;
    }
    natsStatus s = task_to_msg(t, subject, reply, &msg) == AX_OK ? NATS_OK : NATS_NO_MEMORY;
    for (int i = 0; i < count && s == NATS_OK; i++)
        s = header_set(msg, headers[i][0], headers[i][1]);
    if (s != NATS_OK) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    FAULT_IF(a->state == ATTEMPT_WRITING_DEAD_LETTER, "dead.publish.before");
    FAULT_IF(a->state == ATTEMPT_WRITING_RETRY, "later.publish.before");
    ax_err err = attempt_ask_publish(a, reply, msg, on_written);
    if (err != AX_OK)
        no_answer(a, ax_err_text(err));
}

static int64_t delay_of_retry(const struct attempt *a, const struct task *t)
{
    const struct settings *s = &a->pool->settings;
    if (a->end.delay_ms >= 0)
        return a->end.delay_ms;
    int64_t base_ms = t->backoff_ms > 0 ? t->backoff_ms : s->backoff_ms;
    uint32_t had = t->attempt > t->given_back ? t->attempt - t->given_back : 1;
    return backoff_ms(had, base_ms, s->backoff_cap_ms, dispatch_random(a->pool->dispatch));
}

void ending_write_retry(struct attempt *a, const struct attempt_news *news)
{
    struct task next = *content(a, news); /* what it points to stays with its owner */
    struct dispatch *d = a->pool->dispatch;
    char subject[SUBJECT_MAX_CHARS], target[SUBJECT_MAX_CHARS], id[ATTEMPT_IDENTITY_MAX];
    char at[48] = "@at ", expected[24];
    int64_t due_ns = saturate_add(clock_ax_ns(&d->clock),
                                  saturate_mul(delay_of_retry(a, &next), 1000000));
    next.timeouts += a->end.kind == END_TIMED_OUT;
    next.given_back += a->end.kind == END_GIVEN_BACK;
    next.attempt++;
    name_subject(subject, "later", next.priority, next.pool, next.id);
    name_subject(target, "due", next.priority, next.pool, next.id);
    attempt_identity(a, ".later", id);
    rfc3339_format(due_ns, at + strlen(at));
    snprintf(expected, sizeof(expected), "%" PRIu64, a->end.replaces);
    const char *const headers[][2] = {{HDR_MSG_ID, id},
                                      {HDR_EXPECT_SUBJECT_SEQ, expected},
                                      {HDR_SCHEDULE, at},
                                      {HDR_SCHEDULE_TARGET, target}};
    a->end.next_attempt = true;
    write_next(a, &next, subject, headers, 4);
}

static void why_dead(const struct attempt *a, const struct task *t, char *why, size_t cap)
{
    if (a->end.kind == END_BURIED) {
        snprintf(why, cap, "%s", a->end.reason);
    } else if (a->end.kind == END_TIMED_OUT) {
        uint32_t times = t->timeouts + 1;
        snprintf(why, cap, "timed out %u time%s, last: %s", times, plural_s(times), a->end.reason);
    } else {
        int64_t times = failures(t);
        snprintf(why, cap, "failed %" PRId64 " time%s, last: %s", times, plural_s(times),
                 a->end.reason);
    }
}

void ending_write_dead_letter(struct attempt *a, const struct attempt_news *news)
{
    static struct log_gate gate;
    struct task dead = *content(a, news); /* what it points to stays with its owner */
    struct dispatch *d = a->pool->dispatch;
    char subject[SUBJECT_MAX_CHARS], id[ATTEMPT_IDENTITY_MAX], why[400], when[40];
    if (!a->end.quiet) { /* each is in AX_DEAD */
        log_limited(&gate, loop_now_ns(d->loop), LOG_INFO, "dead letter",
                    "task=%s pool=%s attempt=%u", dead.id, a->pool->name, dead.attempt);
    }
    if (!task_headers_fit(&dead)) /* put into its queue by hand */
        dead.header_count = 0;
    name_subject_dead(subject, a->pool->name, dead.id);
    attempt_identity(a, ".dead", id);
    why_dead(a, &dead, why, sizeof(why));
    rfc3339_format(clock_ax_ns(&d->clock), when);
    const char *const headers[][2] = {{HDR_MSG_ID, id}, {HDR_REASON, why}, {HDR_DIED, when}};
    /* Another submission of it may be stored later, and must be looked up then. */
    filter_add(d->done.filter, dead.id, strlen(dead.id), clock_ax_ns(&d->clock));
    a->end.next_attempt = false;
    write_next(a, &dead, subject, headers, 3);
}

/* A copy leads on only if the feeder cannot drop it beside the queue message, which is still there:
 * of a later attempt (rule 4). */
static bool leads_on(const struct attempt *a, const struct stored_msg *found)
{
    const char *attempt = NULL;
    bool known = natsMsgHeader_Get(found->msg, HDR_ATTEMPT, &attempt) == NATS_OK;
    return known && strtoull(attempt, NULL, 10) > a->task.attempt;
}

/* The place of the retry is taken. This very retry, or a copy of the task that is further on, leads
 * on just as well; another copy is replaced. A recurring task of the same key does neither: that
 * makes other tasks. */
static void on_place(struct attempt *a, ax_err err, const struct stored_msg *found)
{
    const char *cron = NULL, *was = NULL;
    char id[ATTEMPT_IDENTITY_MAX];
    a->end.replaces = 0;
    if (err != AX_OK) {
        no_answer(a, ax_err_text(err)); /* gone meanwhile, or no answer: once more */
        return;
    }
    if (natsMsgHeader_Get(found->msg, HDR_CRON, &cron) == NATS_OK) {
        const char *why = "no place for its retry: a recurring task has the same key";
        attempt_on(a, ATTEMPT_ON_PLACE_RECURRING,
                   &(struct attempt_news){
                       .end = END_BURIED, .dead = DEAD_OTHER, .reason = why, .delay_ms = -1});
        return;
    }
    attempt_identity(a, ".later", id);
    bool own = natsMsgHeader_Get(found->msg, HDR_MSG_ID, &was) == NATS_OK && strcmp(was, id) == 0;
    if (!own && !leads_on(a, found)) {
        a->end.replaces = found->seq;
        attempt_on(a, ATTEMPT_ON_PLACE_BEHIND, NULL);
        return;
    }
    attempt_on(a, ATTEMPT_ON_PLACE_LEADS_ON, &(struct attempt_news){.known = !own});
}

void ending_read_place(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    char subject[SUBJECT_MAX_CHARS];
    name_subject(subject, "later", a->queue->priority, a->pool->name, a->task.id);
    if (!attempt_ask_message(a, STREAM_LATER, subject, 0, on_place))
        no_answer(a, "pipeline full");
}

void ending_count_next(struct attempt *a, const struct attempt_news *news)
{
    if (news->known)
        return;
    if (a->end.next_attempt)
        metric_add(a->pool->count.retried, a->end.kind != END_GIVEN_BACK);
    else
        pool_stats_dead(a);
}

void ending_note_written(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    a->end.written = true;
}

/* ---- the queue message, then the hand-off ---- */

static void on_released(struct attempt *a, const struct answer *answer)
{
    FAULT_IF(a->end.kind == END_CANCELLED, "cancel.ack.after");
    FAULT_IF(a->end.kind != END_CANCELLED, "ending.ack.after");
    if (answer->err == AX_OK)
        attempt_on(a, ATTEMPT_ON_RELEASED, NULL);
    else
        no_answer(a, ax_err_text(answer->err));
}

void ending_release(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    FAULT_IF(a->end.kind == END_CANCELLED, "cancel.ack.before");
    FAULT_IF(a->end.kind != END_CANCELLED, "ending.ack.before");
    if (!attempt_ask_release(a, on_released))
        no_answer(a, "pipeline full");
}

static void on_removed(void *arg, const struct answer *answer)
{
    (void)arg;
    (void)answer; /* gone, or gone before, or swept by the next leader */
    FAULT("ending.remove.after");
}

static void on_swept(void *arg, const struct answer *answer)
{
    (void)arg;
    (void)answer;
    FAULT("sweep.remove.after");
}

/* Rule 1: only now, with the queue message gone, may the hand-off go. */
void ending_remove_hand_off(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    char body[64];
    int n = snprintf(body, sizeof(body), "{\"seq\":%" PRIu64 ",\"no_erase\":true}",
                     a->hand_off.seq);
    bool swept = !a->end.decided;
    if (a->hand_off.unfetched)
        demand_withdrawn(&a->pool->flow.demand);
    FAULT_IF(!swept, "ending.remove.before");
    FAULT_IF(swept, "sweep.remove.before");
    pipeline_request(a->pool->dispatch->pipeline, "$JS.API.STREAM.MSG.DELETE." STREAM_WORK, body,
                     (size_t)n, DELETE_WAIT_MS, swept ? on_swept : on_removed, NULL);
}

void ending_tell_cancelled(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    a->end.cancelled(a->end.cancel_arg, true, a->end.done_late);
}

/* It goes on, and how it ends is open again. */
void ending_tell_not_cancelled(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    a->end.decided = false;
    a->end.cancelled(a->end.cancel_arg, false, a->end.done_late);
}
