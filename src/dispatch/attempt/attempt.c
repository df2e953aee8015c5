#include "dispatch/attempt/attempt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/ack.h"
#include "dispatch/attempt/acks.h"
#include "dispatch/attempt/attempt_actions.h"
#include "dispatch/attempt/ending.h"
#include "dispatch/attempt/hand_off.h"
#include "dispatch/attempt/verify.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"
#include "task/task_stored.h"

/* Of a message with its headers, beside the body, as nats.c keeps it. */
#define MESSAGE_BYTES 1024

/* ---- moving ---- */

static unsigned facts_of(const struct attempt *a, unsigned needed, const struct attempt_news *news)
{
    return hand_off_facts(a, needed) | ending_facts(a, needed, news) | acks_facts(a, needed, news) |
           verify_facts(a, needed);
}

/* What is heard while AX_WORK is read says more than what is found there. */
static enum attempt_event heard_first(const struct attempt *a, enum attempt_event event)
{
    bool answer = event >= ATTEMPT_ON_QUEUE_THERE && event <= ATTEMPT_ON_FINISHED;
    if (!answer || !attempt_state_is_verifying(a->state) || !acks_are_pending(a))
        return event;
    return ATTEMPT_ON_HEARD_MEANWHILE;
}

/* The step of ending that a state awaits the answer of, as operators know it from the log. */
static const char *step_of(enum attempt_state state)
{
    switch (state) {
    case ATTEMPT_RECORDING:
        return "record";
    case ATTEMPT_READING_OWN_LETTER:
        return "dead";
    case ATTEMPT_READING_TASK:
        return "content";
    case ATTEMPT_RELEASING:
    case ATTEMPT_CANCELLING:
        return "ack";
    default:
        return "next";
    }
}

static void log_left(struct attempt *a, enum attempt_state from, const struct attempt_news *news)
{
    char buf[160];
    if (from != ATTEMPT_VERIFYING_LEASE && !a->end.quiet) {
        log_warn("step got no usable answer, left to the lease", "task=%s pool=%s step=%s why=%s",
                 a->task.id, a->pool->name, step_of(from),
                 log_quote(news->why != NULL ? news->why : "", buf, sizeof(buf)));
    }
    a->end.quiet = a->end.judge_again;
}

/* Carries out the actions. The last may forget the attempt. */
static void act(struct attempt *a, const struct attempt_move *m, const struct attempt_news *news)
{
    for (int i = 0; i < ATTEMPT_MOVE_ACTIONS && m->actions[i] != ATTEMPT_DO_NOTHING; i++)
        attempt_actions[m->actions[i]](a, news);
}

void attempt_on(struct attempt *a, enum attempt_event event, const struct attempt_news *news)
{
    static const struct attempt_news nothing;
    const struct attempt_move *m;
    news = news != NULL ? news : &nothing;
    event = heard_first(a, event);
    do {
        enum attempt_state from = a->state;
        m = attempt_moves_find(from, event, facts_of(a, attempt_moves_facts(from, event), news));
        if (m == NULL) {
            log_error("no move, event ignored", "task=%s pool=%s state=%s event=%s", a->task.id,
                      a->pool->name, attempt_state_name(from), attempt_event_name(event));
            return;
        }
        if (m->to != ATTEMPT_STATE_COUNT)
            a->state = m->to;
        if (m->to == ATTEMPT_LEFT)
            log_left(a, from, news);
        act(a, m, news);
        event = ATTEMPT_ON_STEP;
    } while (m->to != ATTEMPT_STATE_COUNT && attempt_state_is_choice(m->to));
}

bool attempt_may(const struct attempt *a, enum attempt_event event)
{
    static const struct attempt_news nothing;
    unsigned facts = facts_of(a, attempt_moves_facts(a->state, event), &nothing);
    return attempt_moves_find(a->state, event, facts) != NULL;
}

/* ---- finding ---- */

struct attempt *attempt_of_work(const struct pool *p, uint64_t work_seq)
{
    struct attempt *a = NULL;
    HASH_FIND(by_work, p->by_work, &work_seq, sizeof(work_seq), a);
    return a;
}

struct attempt *attempt_of_task(const struct pool *p, const char *id)
{
    struct attempt *a = NULL;
    HASH_FIND(by_id, p->by_id, id, strlen(id), a);
    return a;
}

struct attempt *attempt_of_message(const struct queue *q, uint64_t queue_seq)
{
    struct attempt *a = NULL;
    HASH_FIND(by_seq, q->attempts, &queue_seq, sizeof(queue_seq), a);
    return a;
}

/* ---- birth ---- */

static struct attempt *make(struct queue *q, const char *lease, uint64_t queue_seq,
                            int64_t stored_ns)
{
    struct attempt *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return NULL;
    a->lease.subject = strdup(lease);
    if (a->lease.subject == NULL) {
        free(a);
        return NULL;
    }
    a->pool = q->pool;
    a->queue = q;
    a->queue_seq = queue_seq;
    a->stored_ns = stored_ns;
    a->end.delay_ms = -1;
    a->lease.renewed_ns = loop_now_ns(q->pool->dispatch->loop);
    HASH_ADD(by_seq, q->attempts, queue_seq, sizeof(a->queue_seq), a);
    return a;
}

/* The names an attempt needs even when the message's own cannot be read. */
static void name(struct attempt *a)
{
    if (!name_is_task_id(a->task.id))
        name_new_id(a->task.id);
    snprintf(a->task.pool, sizeof(a->task.pool), "%s", a->pool->name);
    snprintf(a->task.priority, sizeof(a->task.priority), "%s", a->queue->priority);
    if (a->task.attempt == 0)
        a->task.attempt = 1;
    HASH_ADD(by_id, a->pool->by_id, task.id, strlen(a->task.id), a);
    a->links.in_id = true;
}

static bool join(struct attempt *a, const char *group, bool ordered, bool running)
{
    return group == NULL || (groups_join(a, group) && (!ordered || ordered_join(a, running)));
}

/* AX_E_NOMEM: it could not be read. AX_E_INVALID: it is no task, p says why. */
static ax_err read_task(struct attempt *a, struct problem *p)
{
    ax_err err = task_stored_read(&a->task, a->msg, p);
    if (err == AX_E_NOMEM) {
        a->task = (struct task){0};
        return err;
    }
    if (err == AX_OK)
        return AX_OK;
    memset(&a->task, 0, sizeof(a->task));
    a->task.max_retry = -1;
    a->task.body = natsMsg_GetData(a->msg);
    a->task.body_bytes = (size_t)natsMsg_GetDataLength(a->msg);
    return AX_E_INVALID;
}

struct attempt *attempt_new(struct queue *q, natsMsg *msg, uint64_t queue_seq, int64_t stored_ns,
                            bool redelivered)
{
    struct problem p;
    char why[sizeof(((struct attempt *)NULL)->end.reason)];
    struct attempt *a = make(q, puller_ack_subject(msg), queue_seq, stored_ns);
    if (a == NULL) {
        natsMsg_Destroy(msg);
        return NULL;
    }
    a->msg = msg;
    a->bytes = (size_t)natsMsg_GetDataLength(msg) + MESSAGE_BYTES;
    a->lease.redelivered = redelivered;
    ax_err err = read_task(a, &p);
    if (err != AX_E_NOMEM)
        name(a);
    if (err == AX_E_NOMEM || !join(a, a->task.group, a->task.ordered, false)) {
        attempt_forget(a);
        return NULL;
    }
    if (err == AX_OK) {
        attempt_on(a, ATTEMPT_ON_DELIVERED, NULL);
    } else {
        snprintf(why, sizeof(why), "malformed: %.200s", p.text);
        attempt_on(a, ATTEMPT_ON_MALFORMED,
                   &(struct attempt_news){
                       .end = END_BURIED, .dead = DEAD_MALFORMED, .reason = why, .delay_ms = -1});
    }
    return a;
}

struct attempt *attempt_adopt(struct queue *q, struct task *t, const char *lease,
                              uint64_t queue_seq, int64_t stored_ns, uint64_t work_seq)
{
    struct attempt *a = make(q, lease, queue_seq, stored_ns);
    if (a == NULL) {
        task_clear(t);
        return NULL;
    }
    struct dispatch *d = q->pool->dispatch;
    a->task = *t;
    name(a);
    a->hand_off.epoch_ns = d->work_epoch_ns;
    a->hand_off.active_ns = a->hand_off.known_ns = loop_now_ns(d->loop);
    if (!join(a, a->task.group, a->task.ordered, true)) {
        attempt_forget(a);
        return NULL;
    }
    task_drop_content(&a->task);
    a->hand_off.counted = true;
    q->pool->flow.inflight++;
    groups_began(a);
    attempt_set_work(a, work_seq);
    attempt_on(a, ATTEMPT_ON_ADOPTED, NULL);
    return a;
}

/* ---- the end of it in this process ---- */

/* Out of everything that could find it. */
static void detach(struct attempt *a)
{
    loop_timer_stop(a->pool->dispatch->loop, &a->hand_off.limit);
    attempt_use_token(a);
    attempt_uncount(a);
    if (a->links.staged)
        queue_unstage(a);
    attempt_set_work(a, 0);
    if (a->links.in_id)
        HASH_DELETE(by_id, a->pool->by_id, a);
    a->links.in_id = false;
    HASH_DELETE(by_seq, a->queue->attempts, a);
    groups_leave(a);
}

void attempt_forget(struct attempt *a)
{
    if (a->abandoned)
        DL_DELETE2(a->pool->lead.abandoned, a, links.prev, links.next);
    else
        detach(a);
    attempt_drop_content(a);
    free(a->lease.subject);
    free(a);
}

void attempt_abandon(struct attempt *a)
{
    if (!a->ask.pending) {
        attempt_forget(a);
        return;
    }
    bool cancelling = a->state == ATTEMPT_CANCELLING;
    detach(a);
    a->abandoned = true;
    DL_APPEND2(a->pool->lead.abandoned, a, links.prev, links.next);
    if (cancelling)
        a->end.cancelled(a->end.cancel_arg, false, false);
}

bool attempt_is_abandoned(const void *attempt)
{
    return ((const struct attempt *)attempt)->abandoned;
}

/* ---- lease, content, hand-off ---- */

void attempt_set_lease(struct attempt *a, const char *ack_subject)
{
    char *copy = strdup(ack_subject);
    if (copy == NULL)
        return; /* the old one still works: the server goes by its sequence */
    free(a->lease.subject);
    a->lease.subject = copy;
    a->lease.renewed_ns = loop_now_ns(a->pool->dispatch->loop);
}

void attempt_renew(struct attempt *a)
{
    struct dispatch *d = a->pool->dispatch;
    FAULT("renew.before");
    wire_publish(d->wire, a->lease.subject, ACK_TEXT_PROGRESS, strlen(ACK_TEXT_PROGRESS));
    FAULT_SENT("renew.after", d->wire);
    a->lease.renewed_ns = loop_now_ns(d->loop);
}

void attempt_drop_content(struct attempt *a)
{
    task_drop_content(&a->task);
    natsMsg_Destroy(a->msg);
    a->msg = NULL;
}

void attempt_set_work(struct attempt *a, uint64_t work_seq)
{
    if (a->links.in_work)
        HASH_DELETE(by_work, a->pool->by_work, a);
    a->hand_off.seq = work_seq;
    a->links.in_work = work_seq != 0;
    acks_note_seq(a->pool, work_seq);
    if (a->links.in_work)
        HASH_ADD(by_work, a->pool->by_work, hand_off.seq, sizeof(a->hand_off.seq), a);
}

void attempt_use_token(struct attempt *a)
{
    struct pool *p = a->pool;
    if (!a->hand_off.token)
        return;
    a->hand_off.token = false;
    unanswered_used(&p->flow.unanswered, &p->flow.bucket, p->flow.answer_ns,
                    loop_now_ns(p->dispatch->loop));
    if (p->flow.unanswered.waits)
        pump_soon(p);
}

void attempt_return_token(struct attempt *a)
{
    struct pool *p = a->pool;
    if (!a->hand_off.token)
        return;
    a->hand_off.token = false;
    bucket_return(&p->flow.bucket);
    p->flow.unanswered.count--;
    if (p->flow.unanswered.waits)
        pump_soon(p);
}

void attempt_uncount(struct attempt *a)
{
    groups_ended(a);
    if (!a->hand_off.counted)
        return;
    a->hand_off.counted = false;
    a->pool->flow.inflight--;
    demand_ended(&a->pool->flow.demand, a->hand_off.pull);
    a->hand_off.pull = NULL;
}

void attempt_identity(const struct attempt *a, const char *suffix, char *out)
{
    snprintf(out, ATTEMPT_IDENTITY_MAX, "%s.%s.%" PRIu64 ".%" PRId64 "%s", a->task.id,
             a->queue->stream, a->queue_seq, a->stored_ns, suffix);
}
