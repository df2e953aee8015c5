/* How a run ends (the table of docs/design.md, "order of steps"): write the next state, wait for
 * the server's word, ack the queue message, and only then remove the hand-off. Every step may be
 * repeated: writes carry a message id made of the queue message's identity (rule 2). Where a step
 * gets no usable answer the run goes back to ATTEMPT_RUNNING and its lease is left to lapse; when
 * it comes back the steps are repeated. What was decided stays: a worker's word is not to be taken
 * for silence later on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/attempt/ending.h"
#include "dispatch/attempt/record_writer.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "task/backoff.h"
#include "task/header.h"

#define GET_WAIT_MS 5000
#define ACK_WAIT_MS 5000
#define DELETE_WAIT_MS 5000

static void leave_to_lease(struct attempt *r, const char *step, const char *why)
{
    char buf[160];
    log_warn("step got no usable answer, left to the lease", "task=%s pool=%s step=%s why=%s",
             r->task.id, r->pool->name, step, log_quote(why, buf, sizeof(buf)));
    r->state = ATTEMPT_RUNNING;
}

/* ---- finished: AX_DONE record, then the queue message ---- */

static void on_recorded(void *arg, const struct answer *a)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    struct dispatch *d = p->dispatch;
    if (attempt_is_gone(r))
        return;
    if (a->err != AX_OK) {
        leave_to_lease(r, "record", a->description);
        return;
    }
    metric_add(p->count.done, 1);
    FAULT("finish.record.after");
    /* if it is lost the message comes again and is dropped */
    wire_publish(d->wire, r->lease.subject, "", 0);
    FAULT_SENT("finish.ack.after", d->wire);
    attempt_free(r);
}

void ending_finish_as(struct attempt *r, uint32_t attempt, uint64_t work_seq)
{
    r->state = ATTEMPT_ENDING;
    r->end.kind = END_DONE;
    r->end.decided = r->hand_off.seq != 0; /* else it is handed off anew, and looked up once more */
    attempt_uncount(r);
    FAULT("finish.record.before");
    ax_err err = record_writer_write_done(r->pool, r->task.id, attempt, work_seq, on_recorded, r);
    if (err != AX_OK)
        leave_to_lease(r, "record", ax_err_text(err));
}

void ending_finish(struct attempt *r)
{
    ending_finish_as(r, r->task.attempt, r->hand_off.seq);
}

static void on_late_recorded(void *arg, const struct answer *a)
{
    struct pool *p = arg;
    FAULT("late.record.after");
    if (a->err == AX_OK)
        metric_add(p->count.superseded_acks, 1);
}

/* Rule 5: a late ack of a superseded attempt is honoured; the retry is dropped before its start. */
void acks_honour(struct pool *p, const struct superseded_ack *l)
{
    struct dispatch *d = p->dispatch;
    /* first: the retry may be about to start */
    filter_add(d->done.filter, l->id, strlen(l->id), clock_ax_ns(&d->clock));
    acks_remember_unrecorded(p, l);
    FAULT("late.record.before");
    record_writer_write(p, RECORD_DONE, l->id, l->attempt, l->work_seq, on_late_recorded, p);
    log_info("late ack honoured", "task=%s pool=%s fence=%" PRIu64, l->id, p->name, l->work_seq);
}

/* ---- done before: the queue message only ---- */

void ending_drop(struct attempt *r)
{
    struct pool *p = r->pool;
    metric_add(p->count.duplicates, 1);
    FAULT("drop.ack.before");
    wire_publish(p->dispatch->wire, r->lease.subject, "", 0);
    FAULT_SENT("drop.ack.after", p->dispatch->wire);
    attempt_free(r);
}

/* ---- failed: AX_LATER or AX_DEAD, then the queue message, then the hand-off ---- */

static void on_removed(void *arg, const struct answer *a)
{
    (void)arg;
    (void)a; /* gone, or not there any more, or swept at the next start */
    FAULT("ending.remove.after");
}

static void on_acked(void *arg, const struct answer *a)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    struct dispatch *d = p->dispatch;
    if (attempt_is_gone(r))
        return;
    FAULT_IF(r->end.kind == END_CANCELLED, "cancel.ack.after");
    FAULT_IF(r->end.kind != END_CANCELLED, "ending.ack.after");
    if (r->end.kind == END_CANCELLED)
        r->end.cancelled(r->end.cancel_arg, a->err == AX_OK, r->end.done_late);
    if (a->err != AX_OK) {
        leave_to_lease(r, "ack", ax_err_text(a->err));
        return;
    }
    /* Rule 1: only now, with the queue message gone, may the hand-off go. */
    if (r->hand_off.seq != 0) {
        char body[64];
        int n = snprintf(body, sizeof(body), "{\"seq\":%" PRIu64 ",\"no_erase\":true}",
                         r->hand_off.seq);
        FAULT("ending.remove.before");
        pipeline_request(d->pipeline, "$JS.API.STREAM.MSG.DELETE." STREAM_WORK, body, (size_t)n,
                         DELETE_WAIT_MS, on_removed, NULL);
        if (r->end.kind != END_CANCELLED) /* the key is free again: an ack must not take it */
            acks_remember_superseded(p, r);
    }
    attempt_free(r);
    pool_pump(p);
}

static void ack_queue(struct attempt *r)
{
    FAULT_IF(r->end.kind == END_CANCELLED, "cancel.ack.before");
    FAULT_IF(r->end.kind != END_CANCELLED, "ending.ack.before");
    if (pipeline_request(r->pool->dispatch->pipeline, r->lease.subject, "+ACK", 4, ACK_WAIT_MS,
                         on_acked, r) != AX_OK)
        on_acked(r, &(struct answer){.err = AX_E_BUSY});
}

static void start_failing(struct attempt *r);

/* known: it had been written before this dispatcher's first try. */
static void count_next(struct attempt *r, bool dead, bool known)
{
    if (dead && !known)
        pool_stats_dead(r);
    else if (!known)
        metric_add(r->pool->count.retried, 1);
}

static bool is_own_next(const struct attempt *r, natsMsg *msg)
{
    const char *was = NULL;
    char id[256];
    attempt_identity(r, ".later", id);
    return natsMsgHeader_Get(msg, HDR_MSG_ID, &was) == NATS_OK && strcmp(was, id) == 0;
}

/* The place of the retry is taken. By a copy of the task, or this very retry, it leads on just as
 * well; by a recurring task of the same key it does not: that makes other tasks. */
static void on_place_looked(void *arg, ax_err err, const struct stored_msg *found)
{
    struct attempt *r = arg;
    const char *cron = NULL;
    if (attempt_is_gone(r))
        return;
    if (err != AX_OK) {
        leave_to_lease(r, "next", ax_err_text(err)); /* gone meanwhile, or no word: once more */
    } else if (natsMsgHeader_Get(found->msg, HDR_CRON, &cron) != NATS_OK) {
        count_next(r, false, !is_own_next(r, found->msg)); /* ours: its answer was lost */
        ack_queue(r);
    } else {
        snprintf(r->end.reason, sizeof(r->end.reason),
                 "no place for its retry: a recurring task has the same key");
        r->end.kind = END_BURIED;
        r->end.why = DEAD_OTHER;
        start_failing(r);
    }
}

static void look_at_place(struct attempt *r)
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject(subject, "later", r->queue->priority, r->pool->name, r->task.id);
    if (pipeline_get(r->pool->dispatch->pipeline, STREAM_LATER, subject, 0, GET_WAIT_MS,
                     on_place_looked, r) != AX_OK)
        leave_to_lease(r, "next", "pipeline full");
}

static void on_next_written(void *arg, const struct answer *a)
{
    struct attempt *r = arg;
    if (attempt_is_gone(r))
        return;
    FAULT_IF(strcmp(a->stream, STREAM_DEAD) == 0, "dead.publish.after");
    FAULT_IF(strcmp(a->stream, STREAM_LATER) == 0, "later.publish.after");
    if (a->err == AX_OK) {
        count_next(r, strcmp(a->stream, STREAM_DEAD) == 0, a->duplicate && a->tries == 1);
        ack_queue(r);
    } else if (a->err_code == JSERR_WRONG_LAST_SEQ)
        look_at_place(r);
    else
        leave_to_lease(r, "next", a->description);
}

void ending_give_up(struct dispatch *d)
{
    pipeline_give_up(d->pipeline, on_next_written, attempt_is_abandoned);
}

static natsStatus set_headers(natsMsg *msg, const char *const pairs[][2], int n)
{
    natsStatus s = NATS_OK;
    for (int i = 0; i < n && s == NATS_OK; i++)
        s = header_set(msg, pairs[i][0], pairs[i][1]);
    return s;
}

/* Builds and publishes the next state. t is read for the last time here. */
static void write_next(struct attempt *r, struct task *t, bool dead, const char *why,
                       int64_t delay_ms)
{
    struct pool *p = r->pool;
    struct dispatch *d = p->dispatch;
    char subject[SUBJECT_MAX_CHARS], target[SUBJECT_MAX_CHARS], reply[PIPELINE_REPLY_MAX], id[256],
        when[40], at[48];
    natsMsg *msg = NULL;
    if (pipeline_reserve(d->pipeline, reply) != AX_OK) {
        leave_to_lease(r, "next", "pipeline full");
        return;
    }
    attempt_identity(r, dead ? ".dead" : ".later", id);
    clock_format_rfc3339(clock_ax_ns(&d->clock) + (dead ? 0 : delay_ms * 1000000), when);
    snprintf(at, sizeof(at), "@at %s", when);
    if (dead)
        name_subject_dead(subject, p->name, t->id);
    else
        name_subject(subject, "later", t->priority, p->name, t->id);
    name_subject(target, "due", t->priority, p->name, t->id);
    if (task_to_msg(t, subject, reply, &msg) == AX_OK) {
        const char *const for_dead[][2] = {{HDR_MSG_ID, id}, {HDR_REASON, why}, {HDR_DIED, when}};
        const char *const for_later[][2] = {{HDR_MSG_ID, id},
                                            {HDR_EXPECT_SUBJECT_SEQ, "0"},
                                            {HDR_SCHEDULE, at},
                                            {HDR_SCHEDULE_TARGET, target}};
        natsStatus s = dead ? set_headers(msg, for_dead, 3) : set_headers(msg, for_later, 4);
        if (s != NATS_OK) {
            natsMsg_Destroy(msg);
            msg = NULL;
        }
    }
    if (dead) /* another submission of it may be stored later, and must be looked up then */
        filter_add(d->done.filter, t->id, strlen(t->id), clock_ax_ns(&d->clock));
    r->end.next_attempt = !dead;
    FAULT_IF(dead, "dead.publish.before");
    FAULT_IF(!dead, "later.publish.before");
    ax_err err = pipeline_publish(d->pipeline, reply, msg, 0, on_next_written, r);
    if (err != AX_OK)
        leave_to_lease(r, "next", ax_err_text(err));
}

/* Retry or dead letter, by what has happened so far. A timeout is the worker's death, not the
 * task's failure: it has a limit of its own. */
static bool had_enough(const struct attempt *r, const struct task *t, char *why, size_t cap)
{
    const struct settings *s = &r->pool->settings;
    if (r->end.kind == END_BURIED) {
        snprintf(why, cap, "%s", r->end.reason);
        return true;
    }
    if (r->end.kind == END_TIMED_OUT) {
        snprintf(why, cap, "timed out %u times, last: %s", t->timeouts + 1, r->end.reason);
        return t->timeouts + 1 > s->max_timeouts;
    }
    int64_t max_retry = t->max_retry >= 0 ? t->max_retry : s->max_retry;
    int64_t failures = (int64_t)t->attempt - t->timeouts;
    snprintf(why, cap, "failed %" PRId64 " times, last: %s", failures, r->end.reason);
    return failures > max_retry;
}

/* Retry or dead letter, by what has happened so far. A timeout is the worker's death, not the
 * task's failure: it has a limit of its own. */
static void decide(struct attempt *r, struct task *t)
{
    struct pool *p = r->pool;
    char why[400];
    snprintf(t->priority, sizeof(t->priority), "%s", r->queue->priority);
    snprintf(t->pool, sizeof(t->pool), "%s", p->name);
    if (t != &r->task)
        snprintf(t->id, sizeof(t->id), "%s", r->task.id);
    if (had_enough(r, t, why, sizeof(why))) {
        log_info("dead letter", "task=%s pool=%s attempt=%u", t->id, p->name, t->attempt);
        write_next(r, t, true, why, 0);
        return;
    }
    int64_t delay = r->end.delay_ms;
    if (delay < 0) {
        int64_t base = t->backoff_ms > 0 ? t->backoff_ms : p->settings.backoff_ms;
        delay = backoff_ms(t->attempt, base, p->settings.backoff_cap_ms,
                           dispatch_random(p->dispatch));
    }
    if (r->end.kind == END_TIMED_OUT)
        t->timeouts++;
    t->attempt++;
    write_next(r, t, false, why, delay);
}

static void on_content(void *arg, ax_err err, const struct stored_msg *found)
{
    struct attempt *r = arg;
    struct pool *p = r->pool;
    struct problem problem;
    struct task t = {0};
    if (attempt_is_gone(r))
        return;
    if (err == AX_E_NOT_FOUND || (err == AX_OK && found->time_ns != r->stored_ns)) {
        /* Rule 7: the queue message is gone too, somebody else ended it: forget it and touch
         * nothing. */
        attempt_vanished(r);
        pool_pump(p);
        return;
    }
    if (err == AX_OK)
        err = task_from_stored_at(&t, found->subject, found->msg, &problem);
    if (err != AX_OK)
        leave_to_lease(r, "content", ax_err_text(err));
    else
        decide(r, &t);
    task_clear(&t);
}

static void read_content(struct attempt *r)
{
    if (pipeline_get(r->pool->dispatch->pipeline, r->queue->stream, NULL, r->queue_seq, GET_WAIT_MS,
                     on_content, r) != AX_OK)
        leave_to_lease(r, "content", "pipeline full");
}

bool ending_is_dead_letter(const struct attempt *r, const struct stored_msg *found)
{
    const char *was = NULL;
    char id[256];
    attempt_identity(r, ".dead", id);
    return found != NULL && natsMsgHeader_Get(found->msg, HDR_MSG_ID, &was) == NATS_OK &&
           strcmp(was, id) == 0;
}

void ending_was_buried(struct attempt *r)
{
    struct dispatch *d = r->pool->dispatch;
    filter_add(d->done.filter, r->task.id, strlen(r->task.id), clock_ax_ns(&d->clock));
    r->state = ATTEMPT_ENDING;
    r->end.kind = END_BURIED;
    attempt_uncount(r);
    ack_queue(r);
}

static void on_dead_looked(void *arg, ax_err err, const struct stored_msg *found)
{
    struct attempt *r = arg;
    if (attempt_is_gone(r))
        return;
    if (err != AX_OK && err != AX_E_NOT_FOUND)
        leave_to_lease(r, "dead", ax_err_text(err));
    else if (ending_is_dead_letter(r, found))
        ending_was_buried(r);
    else
        read_content(r);
}

/* What looks like silence may be a failure for good that another dispatcher heard of: it wrote the
 * dead letter, and died before it acked the queue message. A retry beside it would be a second
 * end. */
static void look_for_dead_letter(struct attempt *r)
{
    struct pool *p = r->pool;
    char subject[SUBJECT_MAX_CHARS];
    name_subject_dead(subject, p->name, r->task.id);
    if (pipeline_get(p->dispatch->pipeline, STREAM_DEAD, subject, 0, GET_WAIT_MS, on_dead_looked,
                     r) != AX_OK)
        leave_to_lease(r, "dead", "pipeline full");
}

static void start_failing(struct attempt *r)
{
    r->state = ATTEMPT_ENDING;
    r->end.decided = r->hand_off.seq != 0;
    attempt_uncount(r);
    if (r->msg != NULL)
        decide(r, &r->task);
    else if (r->end.kind == END_TIMED_OUT)
        look_for_dead_letter(r);
    else
        read_content(r);
}

void ending_repeat(struct attempt *r)
{
    if (r->end.kind == END_DONE)
        ending_finish(r);
    else
        start_failing(r);
}

void ending_fail(struct attempt *r, const char *why, int64_t delay_ms)
{
    snprintf(r->end.reason, sizeof(r->end.reason), "%s", why);
    r->end.kind = END_FAILED;
    r->end.why = DEAD_FAILED;
    r->end.delay_ms = delay_ms;
    start_failing(r);
}

void ending_revoke(const struct attempt *r, uint64_t fence)
{
    char subject[SUBJECT_MAX_CHARS], token[24];
    snprintf(subject, sizeof(subject), "ax.revoke.%s.%s", r->pool->name, r->task.id);
    int n = snprintf(token, sizeof(token), "%" PRIu64, fence);
    wire_publish(r->pool->dispatch->wire, subject, token, (size_t)n);
}

/* Whatever comes next has at least this token. */
static void revoke(struct attempt *r)
{
    FAULT("ending.revoke.before");
    ending_revoke(r, r->hand_off.seq + 1);
    FAULT_SENT("ending.revoke.after", r->pool->dispatch->wire);
}

void ending_time_out(struct attempt *r)
{
    metric_add(r->pool->count.timeouts, 1);
    adapt_timed_out(r->pool);
    snprintf(r->end.reason, sizeof(r->end.reason), "no receipt within ack wait");
    revoke(r);
    r->end.kind = END_TIMED_OUT;
    r->end.why = DEAD_TIMED_OUT;
    r->end.delay_ms = -1;
    start_failing(r);
}

#define LIMIT_AGAIN_MS 100

static void on_limit(void *arg)
{
    struct attempt *r = arg;
    char took[48], why[120];
    if (r->state == ATTEMPT_VERIFYING) { /* what the look finds goes first */
        loop_timer_start(r->pool->dispatch->loop, &r->hand_off.limit, LIMIT_AGAIN_MS, on_limit, r);
        return;
    }
    if (r->state != ATTEMPT_RUNNING || r->end.decided)
        return;
    revoke(r);
    metric_add(r->pool->count.overran, 1);
    adapt_timed_out(r->pool);
    snprintf(why, sizeof(why), "ran longer than its timeout of %s",
             clock_format_duration(r->task.timeout_ms, took));
    ending_fail(r, why, -1);
}

void ending_limit(struct attempt *r, int64_t ran_ms)
{
    if (r->task.timeout_ms <= 0)
        return;
    int64_t left_ms = r->task.timeout_ms - ran_ms;
    loop_timer_start(r->pool->dispatch->loop, &r->hand_off.limit, left_ms > 0 ? left_ms : 0,
                     on_limit, r);
}

void ending_bury(struct attempt *r, enum dead_reason why, const char *text)
{
    if (text != r->end.reason)
        snprintf(r->end.reason, sizeof(r->end.reason), "%s", text);
    r->end.why = why;
    r->end.kind = END_BURIED;
    start_failing(r);
}

void ending_cancel(struct attempt *r, void (*ended)(void *arg, bool gone, bool done), void *arg)
{
    if (r->state == ATTEMPT_STAGED)
        queue_unstage(r);
    if (r->hand_off.seq != 0)
        revoke(r);
    r->state = ATTEMPT_ENDING;
    r->end.kind = END_CANCELLED;
    r->end.decided = false;
    r->end.cancelled = ended;
    r->end.cancel_arg = arg;
    attempt_uncount(r);
    ack_queue(r);
}
