#include "ingress/submit/submit_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/text/rfc3339.h"
#include "bus/pipeline_get.h"
#include "done/record.h"
#include "ingress/key_index.h"
#include "ingress/queue/queue.h"
#include "ingress/queue/shares.h"
#include "ingress/submit/refused.h"
#include "task/header.h"

#define GET_WAIT_MS 3000
#define ROUNDS_MAX 3
#define OVER_SHARE_MS 100 /* after others, who are told to come sooner */

static void step_place(struct submit *s);
static void step_enqueue(struct submit *s);
static void step_spill(struct submit *s);
static void step_later(struct submit *s);
static void step_work(struct submit *s);
static void step_bury_full(struct submit *s);

void submit_run(struct submit *s, void (*step)(struct submit *))
{
    s->step = step;
    step(s);
}

void submit_not_asked(struct submit *s, ax_err err)
{
    struct verdict v;
    if (err == AX_E_BUSY) {
        submit_defer(s);
    } else if (err == AX_E_TOO_LONG || err == AX_E_INVALID) {
        verdict_error(&v, 400, JSERR_BAD_REQUEST, 0, "cannot be stored: %s", ax_err_text(err));
        submit_reject(s, REFUSED_SERVER, &v);
    } else {
        submit_again(s);
    }
}

static void get(struct submit *s, const char *stream, const char *subject, pipeline_get_cb cb)
{
    ax_err err = submit_has_room(s)
                     ? pipeline_get(s->ing->pipe, stream, subject, 0, GET_WAIT_MS, cb, s)
                     : AX_E_BUSY;
    if (err != AX_OK)
        submit_not_asked(s, err);
}

static void get_own(struct submit *s, const char *stream, const char *stage, pipeline_get_cb cb)
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject(subject, stage, s->task.priority, s->task.pool, s->task.id);
    get(s, stream, subject, cb);
}

/* ---- is the key known? */

static void not_there(struct submit *s)
{
    key_index_is_not(s->ing->key_index, s->place, s->task.id);
    s->places &= ~s->place;
    submit_run(s, submit_step_look);
}

static void on_record(void *arg, ax_err err, const struct record *r, uint64_t seq)
{
    struct submit *s = arg;
    if ((err == AX_OK && r->state != RECORD_CANCELLED) || (err == AX_E_PROTOCOL && seq != 0)) {
        submit_known(s, STREAM_DONE, seq, STATE_DONE);
    } else if (err != AX_OK && err != AX_E_NOT_FOUND) {
        submit_again(s);
    } else if (s->unsure) {
        submit_wait(s);
    } else {
        not_there(s); /* a cancelled key is free again */
    }
}

static void on_look(void *arg, ax_err err, const struct stored_msg *found)
{
    struct submit *s = arg;
    if (err == AX_OK && s->place == KEY_LATER) {
        submit_known(s, STREAM_LATER, found->seq, STATE_LATER);
    } else if (err == AX_OK && s->place == KEY_DEAD) {
        submit_known(s, STREAM_DEAD, found->seq, STATE_DEAD);
    } else if (err == AX_E_NOT_FOUND) {
        not_there(s);
    } else {
        submit_again(s);
    }
}

static void look_done(struct submit *s)
{
    bool whole = key_index_done_is_whole(s->ing->key_index);
    if (s->unsure && !whole) {
        submit_wait(s);
        return;
    }
    s->unsure = !whole;
    ax_err err = submit_has_room(s) ? key_index_find_record(s->ing->key_index, s->task.id,
                                                            GET_WAIT_MS, on_record, s)
                                    : AX_E_BUSY;
    if (err != AX_OK)
        submit_not_asked(s, err);
}

void submit_step_look(struct submit *s)
{
    char subject[SUBJECT_MAX_CHARS];
    if (s->places == 0) {
        submit_run(s, step_place);
        return;
    }
    s->place = s->places & -s->places;
    if (s->place == KEY_DONE) {
        look_done(s);
    } else if (s->place == KEY_LATER) {
        /* ax.later and ax.due */
        snprintf(subject, sizeof(subject), "ax.*.*.%s.%s", s->task.pool, s->task.id);
        get(s, STREAM_LATER, subject, on_look);
    } else {
        name_subject_dead(subject, s->task.pool, s->task.id);
        get(s, STREAM_DEAD, subject, on_look);
    }
}

static void on_queue_looked(void *arg, ax_err err, const struct stored_msg *found)
{
    struct submit *s = arg;
    if (err == AX_OK) {
        s->seq = found->seq;
        submit_run(s, step_work);
    } else if (err == AX_E_NOT_FOUND) {
        s->looked = true;
        submit_run(s, step_place);
    } else {
        submit_again(s);
    }
}

/* While others wait for room. One that has its key in the queue hears that, as it would from a full
 * queue. */
static void over_share(struct submit *s, const struct over_quota *e)
{
    struct verdict v;
    if (s->task.key != NULL && !s->looked) {
        get_own(s, s->queue->p.stream, "queue", on_queue_looked);
        return;
    }
    if (s->reply == NULL) {
        submit_run(s, s->task.ordered ? step_bury_full : step_spill);
        return;
    }
    int64_t hint_ms = queue_hint_ms(s->queue);
    hint_ms = hint_ms < OVER_SHARE_MS ? OVER_SHARE_MS : hint_ms;
    metric_add(s->queue->over_share, 1);
    verdict_error(&v, 503, JSERR_STORE_FULL, hint_ms,
                  "queue %s: group \"%s\" has %" PRId64 " tasks in it, its share is %" PRId64
                  " while others wait, retry in "
                  "%" PRId64 "ms",
                  s->queue->p.name, s->task.group != NULL ? s->task.group : "", e->held, e->share,
                  hint_ms);
    submit_reject(s, REFUSAL_COUNT, &v);
}

/* The queue, the spill or AX_LATER. Only the queue itself refuses an id that it has, so the others
 * look there first. */
static void step_place(struct submit *s)
{
    /* Those already in the spill go first; what is ordered is never there, since the spill does not
     * keep order. */
    bool spill = s->queue->p.spill && s->queue->spilling && !s->task.ordered;
    struct over_quota e;
    if (s->due_ns == 0 && !spill && shares_allow(s->queue, s->task.pool, s->task.group, &e))
        submit_run(s, step_enqueue);
    else if (s->due_ns == 0 && !spill)
        over_share(s, &e);
    else if (s->due_ns == 0 && s->queue->holding)
        submit_wait(s);
    else if (s->task.key != NULL && !s->looked)
        get_own(s, s->queue->p.stream, "queue", on_queue_looked);
    else
        submit_run(s, s->due_ns != 0 ? step_later : step_spill);
}

/* ---- the queue has the id: queued, or running? */

static void on_work(void *arg, ax_err err, const struct stored_msg *found)
{
    struct submit *s = arg;
    (void)found;
    if (err != AX_OK && err != AX_E_NOT_FOUND)
        submit_again(s);
    else
        submit_known(s, s->queue->p.stream, s->seq, err == AX_OK ? STATE_RUNNING : STATE_QUEUED);
}

static void step_work(struct submit *s)
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject_work(subject, s->task.pool, s->task.id);
    get(s, STREAM_WORK, subject, on_work);
}

/* ---- a publish that may have been stored before it was sent again: is what is there ours? */

static bool is_ours(const struct submit *s, const struct stored_msg *found)
{
    const char *v = NULL;
    return natsMsgHeader_Get(found->msg, HDR_SUBMITTED, &v) == NATS_OK && v != NULL &&
           strtoll(v, NULL, 10) == s->task.submitted;
}

static void gone_again(struct submit *s)
{
    /* It was there and is not: finished, or on its way to another attempt. Look everywhere before
     * storing it anew. */
    if (++s->rounds > ROUNDS_MAX) {
        submit_known(s, s->queue->p.stream, s->seq, STATE_QUEUED);
        return;
    }
    s->places = s->task.key != NULL ? KEY_DONE | KEY_LATER | KEY_DEAD : 0;
    s->looked = false;
    submit_run(s, submit_step_look);
}

static void on_compared(struct submit *s, ax_err err, const struct stored_msg *found,
                        const char *stream, enum state state)
{
    if (err == AX_E_NOT_FOUND) {
        gone_again(s);
    } else if (err != AX_OK) {
        submit_again(s);
    } else if (is_ours(s, found)) {
        submit_taken(s, stream, found->seq);
    } else if (state == STATE_QUEUED && strcmp(stream, STREAM_SPILL) != 0) {
        s->seq = found->seq;
        submit_run(s, step_work);
    } else {
        submit_known(s, stream, found->seq, state);
    }
}

static void on_queue_compared(void *arg, ax_err err, const struct stored_msg *found)
{
    struct submit *s = arg;
    on_compared(s, err, found, s->queue->p.stream, STATE_QUEUED);
}

static void on_spill_compared(void *arg, ax_err err, const struct stored_msg *found)
{
    on_compared(arg, err, found, STREAM_SPILL, STATE_QUEUED);
}

static void on_later_compared(void *arg, ax_err err, const struct stored_msg *found)
{
    on_compared(arg, err, found, STREAM_LATER, STATE_LATER);
}

static void step_compare_queue(struct submit *s)
{
    get_own(s, s->queue->p.stream, "queue", on_queue_compared);
}

static void step_compare_spill(struct submit *s)
{
    get_own(s, STREAM_SPILL, "spill", on_spill_compared);
}

static void step_compare_later(struct submit *s)
{
    get_own(s, STREAM_LATER, "later", on_later_compared);
}

/* ---- storing */

static void publish(struct submit *s, const char *stage, pipeline_cb cb)
{
    char reply[PIPELINE_REPLY_MAX], subject[SUBJECT_MAX_CHARS], target[SUBJECT_MAX_CHARS],
        at[48] = "@at ";
    natsMsg *msg = NULL;
    ax_err err = submit_has_room(s) ? pipeline_reserve(s->ing->pipe, reply) : AX_E_BUSY;
    if (err != AX_OK) {
        submit_not_asked(s, err);
        return;
    }
    name_subject(subject, stage, s->task.priority, s->task.pool, s->task.id);
    err = task_to_msg(&s->task, subject, reply, &msg);
    natsStatus st = err == AX_OK ? header_set(msg, HDR_EXPECT_SUBJECT_SEQ, "0") : NATS_NO_MEMORY;
    if (st == NATS_OK && stage[0] == 'l') {
        name_subject(target, "due", s->task.priority, s->task.pool, s->task.id);
        rfc3339_format(s->due_ns, at + 4);
        st = header_set(msg, HDR_SCHEDULE, at);
        if (st == NATS_OK)
            st = header_set(msg, HDR_SCHEDULE_TARGET, target);
    }
    if (st != NATS_OK) {
        natsMsg_Destroy(msg);
        pipeline_cancel(s->ing->pipe, reply);
        err = AX_E_NOMEM;
    } else {
        err = pipeline_publish(s->ing->pipe, reply, msg, 0, cb, s);
    }
    if (err != AX_OK)
        submit_not_asked(s, err);
}

static void bury(struct submit *s, const char *why, const char *text)
{
    char reason[480];
    snprintf(reason, sizeof(reason), "%s: %s", why, text);
    s->reason = strdup(reason);
    submit_run(s, submit_step_bury);
}

/* The server refused for a reason of its own (message larger than the stream's max_msg_size, sealed
 * stream …). */
static void refused_by_server(struct submit *s, const char *stream, const struct answer *a)
{
    struct verdict v;
    int code = a->code >= 400 && a->code < 600 ? a->code : 503;
    verdict_error(&v, code, a->err_code, 0, "stream %s refuses the task: %s", stream,
                  a->err == AX_E_SERVER ? a->description : ax_err_text(a->err));
    submit_reject(s, REFUSED_SERVER, &v);
}

static void busy(struct submit *s, const char *full_of, bool soon)
{
    struct verdict v;
    int64_t hint_ms = soon ? queue_hint_soon_ms(s->queue) : queue_hint_ms(s->queue);
    verdict_error(&v, 503, JSERR_STORE_FULL, hint_ms,
                  "queue %s is full (%s), retry in %" PRId64 "ms", s->queue->p.name, full_of,
                  hint_ms);
    submit_reject(s, REFUSAL_COUNT, &v);
}

static void step_bury_full(struct submit *s)
{
    bury(s, "full", "the queue is full, and the spill does not keep the order of a group");
}

static void on_full(struct submit *s, const struct answer *a)
{
    char full_of[64];
    bool of_bytes = a->full_of == JSERR_FULL_BYTES;
    bool soon = !of_bytes && shares_refused(s->queue, s->task.pool, s->task.group, true);
    if (s->task.ordered && s->reply == NULL) {
        step_bury_full(s);
        return;
    }
    if ((s->queue->p.spill || s->reply == NULL) && !s->task.ordered) {
        submit_run(s, step_spill);
        return;
    }
    if (of_bytes)
        snprintf(full_of, sizeof(full_of), "max_bytes reached");
    else
        snprintf(full_of, sizeof(full_of), "%" PRId64 " tasks", s->queue->p.max_msgs);
    busy(s, full_of, soon);
}

static void on_enqueued(void *arg, const struct answer *a)
{
    struct submit *s = arg;
    FAULT_IF(a->err == AX_OK, "submit.queue.after");
    FAULT_IF(a->err_code == JSERR_WRONG_LAST_SEQ, "submit.queue.known");
    FAULT_IF(a->err_code == JSERR_STORE_FULL, "submit.queue.full");
    if (a->err == AX_OK) {
        submit_taken(s, s->queue->p.stream, a->seq);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ) {
        s->seq = a->last_seq;
        if (s->task.key == NULL && s->seq > 0)
            submit_taken(s, s->queue->p.stream, s->seq); /* nobody else has this id */
        else if (a->tries > 1 || s->seq == 0)
            submit_run(s, step_compare_queue);
        else
            submit_run(s, step_work);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_STORE_FULL) {
        on_full(s, a);
    } else {
        refused_by_server(s, s->queue->p.stream, a);
    }
}

static void step_enqueue(struct submit *s)
{
    FAULT("submit.queue.before");
    publish(s, "queue", on_enqueued);
}

static void on_spilled(void *arg, const struct answer *a)
{
    struct submit *s = arg;
    FAULT_IF(a->err == AX_OK, "submit.spill.after");
    if (a->err == AX_OK) {
        metric_add(s->queue->spilled, 1);
        submit_taken(s, STREAM_SPILL, a->seq);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ) {
        submit_run(s, step_compare_spill);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_STORE_FULL) {
        if (s->reply == NULL)
            bury(s, "full", "queue and spill are full");
        else
            busy(s, "its spill too", false);
    } else {
        refused_by_server(s, STREAM_SPILL, a);
    }
}

static void step_spill(struct submit *s)
{
    queue_spilled(s->queue);
    FAULT("submit.spill.before");
    publish(s, "spill", on_spilled);
}

static void on_later(void *arg, const struct answer *a)
{
    struct submit *s = arg;
    FAULT_IF(a->err == AX_OK, "submit.later.after");
    if (a->err == AX_OK) {
        later_added(&s->ing->later);
        metric_add(s->ing->counters.accepted_later, 1);
        submit_taken(s, STREAM_LATER, a->seq);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ) {
        submit_run(s, step_compare_later);
    } else {
        refused_by_server(s, STREAM_LATER, a);
    }
}

static void step_later(struct submit *s)
{
    key_index_goes_later(s->ing->key_index, s->task.id, s->due_ns);
    FAULT("submit.later.before");
    publish(s, "later", on_later);
}

/* ---- refused, and nobody to tell */

static void on_buried(void *arg, const struct answer *a)
{
    static struct log_gate gate;
    struct submit *s = arg;
    unsigned long more;
    FAULT("submit.dead.after");
    if (a->err == AX_OK || (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ)) {
        if (a->err == AX_OK)
            metric_add(s->ing->counters.buried, 1);
        submit_ended(s);
        return;
    }
    if (log_gate_open(&gate, loop_now_ns(s->ing->loop), 1000000000LL, &more)) {
        char text[256];
        log_error("dead letter refused, trying again", "error=%s more=%lu",
                  log_quote(a->err == AX_E_SERVER ? a->description : ax_err_text(a->err), text,
                            sizeof(text)),
                  more);
    }
    submit_again(s);
}

void submit_step_bury(struct submit *s)
{
    char reply[PIPELINE_REPLY_MAX];
    natsMsg *msg = NULL;
    ax_err err = submit_has_room(s) ? pipeline_reserve(s->ing->pipe, reply) : AX_E_BUSY;
    if (err == AX_E_BUSY) {
        submit_defer(s);
        return;
    }
    if (err == AX_OK) {
        err = refused_to_msg(&s->task, s->msg, reply, s->reason != NULL ? s->reason : "invalid",
                             clock_ax_ns(s->ing->clock), wire_max_payload(s->ing->wire), &msg);
    }
    if (err == AX_OK && header_set(msg, HDR_EXPECT_SUBJECT_SEQ, "0") != NATS_OK) {
        natsMsg_Destroy(msg);
        err = AX_E_NOMEM;
    }
    FAULT("submit.dead.before");
    if (err == AX_OK)
        err = pipeline_publish(s->ing->pipe, reply, msg, 0, on_buried, s);
    else
        pipeline_cancel(s->ing->pipe, reply);
    if (err != AX_OK) {
        log_error("dead letter cannot be made", "error=\"%s\"", ax_err_text(err));
        submit_again(s);
    }
}
