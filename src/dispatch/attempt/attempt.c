#include "dispatch/attempt/attempt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/fault.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/groups.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/pool/pool.h"

#define MESSAGE_BYTES                                                          \
    1024 /* of a message with its headers, beside the body, as nats.c keeps it \
          */

static struct attempt *make(struct queue *q, const char *lease, uint64_t queue_seq,
                            int64_t stored_ns)
{
    struct attempt *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->lease.subject = strdup(lease);
    if (r->lease.subject == NULL) {
        free(r);
        return NULL;
    }
    r->pool = q->pool;
    r->queue = q;
    r->queue_seq = queue_seq;
    r->stored_ns = stored_ns;
    r->end.delay_ms = -1;
    r->lease.renewed_ns = loop_now_ns(q->pool->dispatch->loop);
    HASH_ADD(by_seq, q->attempts, queue_seq, sizeof(r->queue_seq), r);
    return r;
}

/* The names a run needs even when the message's own cannot be read. */
static void name(struct attempt *r)
{
    if (!name_is_task_id(r->task.id))
        name_new_id(r->task.id);
    snprintf(r->task.pool, sizeof(r->task.pool), "%s", r->pool->name);
    snprintf(r->task.priority, sizeof(r->task.priority), "%s", r->queue->priority);
    if (r->task.attempt == 0)
        r->task.attempt = 1;
}

static void add_id(struct attempt *r)
{
    HASH_ADD(by_id, r->pool->by_id, task.id, strlen(r->task.id), r);
    r->links.in_id = true;
}

struct attempt *attempt_new(struct queue *q, natsMsg *msg, uint64_t queue_seq, int64_t stored_ns)
{
    struct problem p;
    struct attempt *r = make(q, natsMsg_GetReply(msg), queue_seq, stored_ns);
    if (r == NULL) {
        natsMsg_Destroy(msg);
        return NULL;
    }
    r->msg = msg;
    r->state = ATTEMPT_CHECKING; /* held by the caller, who stages or buries it */
    ax_err err = task_from_stored(&r->task, msg, &p);
    if (err == AX_E_NOMEM) {
        r->task = (struct task){0};
        attempt_free(r);
        return NULL;
    }
    if (err != AX_OK) {
        memset(&r->task, 0, sizeof(r->task));
        r->task.max_retry = -1;
        r->task.body = natsMsg_GetData(msg);
        r->task.body_bytes = (size_t)natsMsg_GetDataLength(msg);
        r->end.why = DEAD_MALFORMED;
        snprintf(r->end.reason, sizeof(r->end.reason), "malformed: %.200s", p.text);
    }
    name(r);
    add_id(r);
    r->bytes = (size_t)natsMsg_GetDataLength(msg) + MESSAGE_BYTES;
    bool ordered = r->task.ordered && r->task.group != NULL;
    if ((r->task.group != NULL && !groups_join(r, r->task.group)) ||
        (ordered && !ordered_join(r, false))) {
        attempt_free(r);
        return NULL;
    }
    return r;
}

struct attempt *attempt_adopt(struct queue *q, struct task *t, const char *lease,
                              uint64_t queue_seq, int64_t stored_ns, uint64_t work_seq)
{
    struct attempt *r = make(q, lease, queue_seq, stored_ns);
    if (r == NULL) {
        task_clear(t);
        return NULL;
    }
    struct dispatch *d = q->pool->dispatch;
    r->task = *t;
    name(r);
    add_id(r);
    r->state = ATTEMPT_RUNNING;
    r->hand_off.epoch_ns = d->work_epoch_ns;
    r->hand_off.active_ns = loop_now_ns(d->loop);
    if (t->group != NULL && (!groups_join(r, t->group) || (t->ordered && !ordered_join(r, true)))) {
        attempt_free(r);
        return NULL;
    }
    task_drop_content(&r->task);
    r->hand_off.counted = true;
    q->pool->flow.inflight++;
    groups_began(r);
    attempt_set_work(r, work_seq);
    return r;
}

void attempt_set_work(struct attempt *r, uint64_t work_seq)
{
    if (r->links.in_work)
        HASH_DELETE(by_work, r->pool->by_work, r);
    r->hand_off.seq = work_seq;
    r->links.in_work = work_seq != 0;
    if (r->links.in_work)
        HASH_ADD(by_work, r->pool->by_work, hand_off.seq, sizeof(r->hand_off.seq), r);
}

void attempt_use_token(struct attempt *r)
{
    struct pool *p = r->pool;
    if (!r->hand_off.token)
        return;
    r->hand_off.token = false;
    p->flow.unanswered.count--;
    if (p->flow.unanswered.since_ns != 0)
        pool_pump(p);
}

void attempt_uncount(struct attempt *r)
{
    groups_ended(r);
    if (!r->hand_off.counted)
        return;
    r->hand_off.counted = false;
    r->pool->flow.inflight--;
    demand_ended(&r->pool->flow.demand, r->hand_off.pull);
    r->hand_off.pull = NULL;
}

void attempt_drop_content(struct attempt *r)
{
    task_drop_content(&r->task);
    natsMsg_Destroy(r->msg);
    r->msg = NULL;
}

/* Out of everything that could find it. */
static void detach(struct attempt *r)
{
    loop_timer_stop(r->pool->dispatch->loop, &r->hand_off.limit);
    attempt_use_token(r);
    attempt_uncount(r);
    if (r->state == ATTEMPT_STAGED)
        queue_unstage(r);
    attempt_set_work(r, 0);
    if (r->links.in_id)
        HASH_DELETE(by_id, r->pool->by_id, r);
    r->links.in_id = false;
    HASH_DELETE(by_seq, r->queue->attempts, r);
    groups_leave(r);
}

void attempt_free(struct attempt *r)
{
    if (r->abandoned)
        DL_DELETE(r->pool->lead.abandoned, r);
    else
        detach(r);
    attempt_drop_content(r);
    free(r->lease.subject);
    free(r);
}

void attempt_vanished(struct attempt *r)
{
    if (r->turn.slot != NULL)
        ordered_invalidate(r->queue);
    attempt_free(r);
}

bool attempt_awaits_answer(const struct attempt *r)
{
    return r->state == ATTEMPT_CHECKING || r->state == ATTEMPT_HANDING ||
           r->state == ATTEMPT_VERIFYING || r->state == ATTEMPT_ENDING;
}

void attempt_abandon(struct attempt *r)
{
    if (!attempt_awaits_answer(r)) {
        attempt_free(r);
        return;
    }
    void (*cancelled)(void *, bool, bool) =
        r->state == ATTEMPT_ENDING && r->end.kind == END_CANCELLED ? r->end.cancelled : NULL;
    detach(r);
    r->abandoned = true;
    DL_APPEND(r->pool->lead.abandoned, r);
    if (cancelled != NULL)
        cancelled(r->end.cancel_arg, false, false);
}

bool attempt_is_abandoned(const void *run)
{
    return ((const struct attempt *)run)->abandoned;
}

bool attempt_is_gone(struct attempt *r)
{
    if (!r->abandoned)
        return false;
    attempt_free(r);
    return true;
}

void attempt_set_lease(struct attempt *r, const char *ack_subject)
{
    char *copy = strdup(ack_subject);
    if (copy == NULL)
        return; /* the old one still works: the server goes by its sequence */
    free(r->lease.subject);
    r->lease.subject = copy;
    r->lease.renewed_ns = loop_now_ns(r->pool->dispatch->loop);
}

void attempt_identity(const struct attempt *r, const char *suffix, char *out)
{
    snprintf(out, 256, "%s.%s.%" PRIu64 ".%" PRId64 "%s", r->task.id, r->queue->stream,
             r->queue_seq, r->stored_ns, suffix);
}

void attempt_renew(struct attempt *r)
{
    struct dispatch *d = r->pool->dispatch;
    FAULT("renew.before");
    wire_publish(d->wire, r->lease.subject, "+WPI", 4);
    FAULT_SENT("renew.after", d->wire);
    r->lease.renewed_ns = loop_now_ns(d->loop);
}

void attempt_lose(struct attempt *r)
{
    struct pool *p = r->pool;
    attempt_uncount(r);
    attempt_set_work(r, 0);
    r->state = ATTEMPT_LOST;
    FAULT("lose.nak.before");
    /* so that it comes at once */
    wire_publish_text(p->dispatch->wire, r->lease.subject, "-NAK");
    FAULT_SENT("lose.nak.after", p->dispatch->wire);
    r->queue->expired_leases++;
}
