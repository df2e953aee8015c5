#include "ingress/submit/submission_store.h"

#include "base/fault.h"
#include "base/log.h"
#include "base/text/rfc3339.h"
#include "ingress/key_index.h"
#include "ingress/queue/queue.h"
#include "ingress/submit/submission_ask.h"
#include "task/header.h"
#include "task/task_dead.h"

#define DEAD_HEADERS_BYTES 512

/* The place in the queue that was counted for s was used, or was not. */
static void settle(struct submission *s, bool stored, uint64_t seq)
{
    queue_room_settled(s->queue, s->held, stored, seq);
    s->held = NULL;
}

static enum submission_event place_in_queue(struct submission *s)
{
    struct queue *q = s->queue;
    bool spill_kept = queue_room_spill_is_kept(q);
    switch (queue_room_take(q, s->task.pool, &s->held, &s->answer.over)) {
    case POOL_SHARE_UNREADY:
        return SUBMISSION_UNREADY;
    case POOL_SHARE_OVER:
        s->facts.spills = q->p.spill && !spill_kept;
        s->facts.spill_kept = spill_kept;
        if (shares_refused(q, s->task.pool, s->task.group, false))
            s->answer.over.soon = true;
        return SUBMISSION_OVER_POOL_SHARE;
    default:
        break;
    }
    if (shares_allow(q, s->task.pool, s->task.group, &s->answer.over))
        return SUBMISSION_IN_SHARE;
    settle(s, false, 0);
    return SUBMISSION_OVER_SHARE;
}

/* While the rest of the spill is kept, tasks go past those in it: it would be full for good. */
static enum submission_event place_now(struct submission *s)
{
    const struct queue *q = s->queue;
    if (!q->p.spill || !q->spilling || queue_room_spill_is_kept(q))
        return place_in_queue(s);
    if (!s->task.ordered)
        return q->holding ? SUBMISSION_SPILL_ENDING : SUBMISSION_SPILLING;
    enum submission_event place = place_in_queue(s);
    return place == SUBMISSION_IN_SHARE ? SUBMISSION_SPILLING : place;
}

void submission_store_choose(struct submission *s)
{
    submission_event(s, s->due_ns != 0 ? SUBMISSION_NOT_DUE : place_now(s));
}

/* ---- the answer of the server */

static bool is_error(const struct answer *a, int err_code)
{
    return a->err == AX_E_SERVER && a->err_code == err_code;
}

void submission_store_refused(struct submission *s, const char *stream, const struct answer *a)
{
    struct verdict v;
    int code = a->code >= 400 && a->code < 600 ? a->code : 503;
    answer_set_error(&v, code, a->err_code, 0, "stream %s refuses the task: %s", stream,
                     a->err == AX_E_SERVER ? a->description : ax_err_text(a->err));
    submission_refuse(s, REFUSED_SERVER, &v);
}

/* Another submission of its key may have ended while this one was on its way: what has been heard
 * of that by now came before our PubAck, and the look before the publish knew nothing of it. While
 * not all is read every key may be anywhere: then that look counts. */
void submission_store_note(struct submission *s, const char *stream, uint64_t seq)
{
    struct key_index *k = s->ing->key_index;
    bool known = s->facts.keyed && key_index_is_whole(k);
    unsigned places = known ? key_index_maybe(k, s->task.id) : 0;
    s->answer.seq = s->answer.stored_seq = seq;
    s->answer.stored_in = stream == s->queue->p.stream ? NULL : stream;
    s->facts.now_done = (places & KEY_DONE) != 0;
    s->facts.now_later = (places & KEY_LATER) != 0;
    s->facts.now_dead = (places & KEY_DEAD) != 0;
}

static void stored(struct submission *s, const char *stream, const struct answer *a)
{
    if (a->err == AX_OK) {
        submission_store_note(s, stream, a->seq);
        submission_event(s, SUBMISSION_STORED);
    } else if (is_error(a, JSERR_WRONG_LAST_SEQ)) {
        s->answer.seq = a->last_seq;
        s->facts.seq_known = a->last_seq > 0;
        s->facts.sent_again = a->tries > 1;
        submission_event(s, SUBMISSION_EXISTS);
    } else {
        submission_store_refused(s, stream, a);
    }
}

static void on_enqueued(struct submission *s, const struct answer *a)
{
    FAULT_IF(a->err == AX_OK, "submit.queue.after");
    FAULT_IF(a->err_code == JSERR_WRONG_LAST_SEQ, "submit.queue.known");
    FAULT_IF(a->err_code == JSERR_STORE_FULL, "submit.queue.full");
    /* An earlier publish of ours may be what exists. */
    settle(s, a->err == AX_OK || (is_error(a, JSERR_WRONG_LAST_SEQ) && a->tries > 1), a->seq);
    if (!is_error(a, JSERR_STORE_FULL)) {
        stored(s, s->queue->p.stream, a);
        return;
    }
    s->answer.full_of = a->full_of;
    s->answer.soon = a->full_of != JSERR_FULL_BYTES &&
                     shares_refused(s->queue, s->task.pool, s->task.group, true);
    s->facts.spills = s->queue->p.spill;
    submission_event(s, SUBMISSION_FULL);
}

static void on_spilled(struct submission *s, const struct answer *a)
{
    FAULT_IF(a->err == AX_OK, "submit.spill.after");
    if (a->err == AX_OK)
        metric_add(s->queue->count.spilled, 1);
    if (is_error(a, JSERR_STORE_FULL))
        submission_event(s, SUBMISSION_FULL);
    else
        stored(s, STREAM_SPILL, a);
}

static void on_later(struct submission *s, const struct answer *a)
{
    FAULT_IF(a->err == AX_OK, "submit.later.after");
    later_settled(&s->ing->later, &s->later, a->err == AX_OK);
    if (a->err == AX_OK)
        metric_add(s->ing->counters.accepted_later, 1);
    stored(s, STREAM_LATER, a);
}

static void on_buried(struct submission *s, const struct answer *a)
{
    static struct log_gate gate;
    unsigned long more;
    bool exists = is_error(a, JSERR_WRONG_LAST_SEQ);
    FAULT("submit.dead.after");
    if (a->err == AX_OK)
        metric_add(s->ing->counters.buried, 1);
    else if (!exists && log_gate_open(&gate, loop_now_ns(s->ing->loop), 1000000000LL, &more)) {
        char text[256];
        log_error("dead letter refused, trying again", "error=%s more=%lu",
                  log_quote(a->err == AX_E_SERVER ? a->description : ax_err_text(a->err), text,
                            sizeof(text)),
                  more);
    }
    submission_event(s, a->err == AX_OK ? SUBMISSION_STORED
                        : exists        ? SUBMISSION_EXISTS
                                        : SUBMISSION_REFUSED);
}

/* ---- the message */

/* Its time, and the subject under which the server stores it again then. */
static natsStatus set_schedule(const struct submission *s, natsMsg *msg)
{
    char target[SUBJECT_MAX_CHARS], at[48] = "@at ";
    name_subject(target, "due", s->task.priority, s->task.pool, s->task.id);
    rfc3339_format(s->due_ns, at + 4);
    natsStatus st = header_set(msg, HDR_SCHEDULE, at);
    return st == NATS_OK ? header_set(msg, HDR_SCHEDULE_TARGET, target) : st;
}

static void publish(struct submission *s, const char *stage, bool delayed,
                    void (*then)(struct submission *, const struct answer *))
{
    char reply[PIPELINE_REPLY_MAX], subject[SUBJECT_MAX_CHARS];
    natsMsg *msg = NULL;
    if (!submission_ask_reserve(s, reply))
        return;
    name_subject(subject, stage, s->task.priority, s->task.pool, s->task.id);
    natsStatus st = task_to_msg(&s->task, subject, reply, &msg) == AX_OK ? NATS_OK : NATS_NO_MEMORY;
    if (st == NATS_OK)
        st = header_set(msg, HDR_EXPECT_SUBJECT_SEQ, "0");
    if (st == NATS_OK && delayed)
        st = set_schedule(s, msg);
    if (st != NATS_OK) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    submission_ask_publish(s, reply, msg, then);
}

void submission_store_queue(struct submission *s)
{
    FAULT("submit.queue.before");
    publish(s, "queue", false, on_enqueued);
}

void submission_store_spill(struct submission *s)
{
    queue_spilled(s->queue);
    queue_room_spilled(s->queue, s->task.body_bytes);
    FAULT("submit.spill.before");
    publish(s, "spill", false, on_spilled);
}

void submission_store_later(struct submission *s)
{
    key_index_goes_later(s->ing->key_index, s->task.id, s->due_ns);
    FAULT("submit.later.before");
    publish(s, "later", true, on_later);
}

/* What it takes in AX_DEAD, about. */
static int64_t dead_bytes(const struct submission *s)
{
    const natsMsg *msg = s->source.msg;
    return DEAD_HEADERS_BYTES +
           (msg != NULL ? natsMsg_GetDataLength(msg) : (int64_t)s->task.body_bytes);
}

void submission_store_dead(struct submission *s)
{
    const char *subject = s->source.msg != NULL ? natsMsg_GetSubject(s->source.msg) : s->task.pool;
    if (!dead_room_take(s->ing, subject, dead_bytes(s))) {
        submission_event(s, SUBMISSION_STORED); /* done with */
        return;
    }
    char reply[PIPELINE_REPLY_MAX];
    natsMsg *msg = NULL;
    if (!submission_ask_reserve(s, reply))
        return;
    ax_err err = task_dead_to_msg(&s->task, s->source.msg, reply,
                                  s->reason != NULL ? s->reason : "invalid",
                                  clock_ax_ns(s->ing->clock), wire_max_payload(s->ing->wire), &msg);
    if (err == AX_OK && header_set(msg, HDR_EXPECT_SUBJECT_SEQ, "0") != NATS_OK) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    FAULT("submit.dead.before");
    submission_ask_publish(s, reply, msg, on_buried);
}
