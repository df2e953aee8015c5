#include "ingress/submit/submission_look.h"

#include <stdio.h>
#include <stdlib.h>

#include "ingress/key_index.h"
#include "ingress/queue/queue.h"
#include "ingress/submit/submission_ask.h"
#include "ingress/submit/submission_store.h"

/* A publish may have been stored before it was sent again: then its stamp is ours. */
static bool is_ours(const struct submission *s, const struct stored_msg *found)
{
    const char *v = NULL;
    return natsMsgHeader_Get(found->msg, HDR_SUBMITTED, &v) == NATS_OK && v != NULL &&
           strtoll(v, NULL, 10) == s->task.submitted;
}

static void answer(struct submission *s, ax_err err)
{
    submission_event(s, err == AX_OK            ? SUBMISSION_FOUND
                        : err == AX_E_NOT_FOUND ? SUBMISSION_NOT_FOUND
                                                : SUBMISSION_NO_ANSWER);
}

/* Checked after it was stored itself: what it finds may be what became of it meanwhile. */
static bool is_checking(const struct submission *s)
{
    return s->facts.state == SUBMISSION_CHECK_RECORD || s->facts.state == SUBMISSION_CHECK_LATER ||
           s->facts.state == SUBMISSION_CHECK_DEAD;
}

static void on_found(struct submission *s, ax_err err, const struct stored_msg *found)
{
    if (err == AX_OK)
        s->answer.seq = found->seq;
    if (err == AX_OK && is_checking(s) && is_ours(s, found))
        submission_event(s, SUBMISSION_OURS);
    else
        answer(s, err);
}

static void on_later(struct submission *s, ax_err err, const struct stored_msg *found)
{
    if (err == AX_E_NOT_FOUND)
        key_index_is_not(s->ing->key_index, KEY_LATER, s->task.id);
    on_found(s, err, found);
}

static void on_dead(struct submission *s, ax_err err, const struct stored_msg *found)
{
    if (err == AX_E_NOT_FOUND)
        key_index_is_not(s->ing->key_index, KEY_DEAD, s->task.id);
    on_found(s, err, found);
}

/* What is told of a running task is where it stands in its queue. */
static void on_work(struct submission *s, ax_err err, const struct stored_msg *found)
{
    (void)found;
    answer(s, err);
}

static const char *compared_stream(const struct submission *s)
{
    return s->facts.state == SUBMISSION_COMPARE_SPILL   ? STREAM_SPILL
           : s->facts.state == SUBMISSION_COMPARE_LATER ? STREAM_LATER
                                                        : s->queue->p.stream;
}

static void on_compared(struct submission *s, ax_err err, const struct stored_msg *found)
{
    if (err == AX_OK)
        s->answer.seq = found->seq;
    if (err == AX_OK && is_ours(s, found)) {
        submission_store_note(s, compared_stream(s), found->seq);
        submission_event(s, SUBMISSION_OURS);
    } else
        answer(s, err);
}

static void on_record(struct submission *s, ax_err err, const struct record *r, uint64_t seq)
{
    if (err == AX_OK && r->state != RECORD_CANCELLED) {
        bool ours = is_checking(s) && r->submitted == s->task.submitted;
        s->answer.seq = seq;
        submission_event(s, ours ? SUBMISSION_OURS : SUBMISSION_FOUND);
    } else if (err == AX_E_PROTOCOL && seq != 0) {
        /* No decision is made on what cannot be read: the task is not done. */
        key_index_unreadable(s->ing->key_index, s->task.id);
        submission_event(s, SUBMISSION_NOT_FOUND);
    } else if (err != AX_OK && err != AX_E_NOT_FOUND) {
        submission_event(s, SUBMISSION_NO_ANSWER);
    } else {
        /* A cancelled key is free again. */
        if (!s->facts.unread)
            key_index_is_not(s->ing->key_index, KEY_DONE, s->task.id);
        submission_event(s, SUBMISSION_NOT_FOUND);
    }
}

void submission_look_record(struct submission *s)
{
    bool whole = key_index_done_is_whole(s->ing->key_index);
    if (s->facts.unread && !whole) {
        submission_event(s, SUBMISSION_UNREADY);
        return;
    }
    s->facts.unread = !whole;
    submission_ask_record(s, on_record);
}

void submission_look_record_again(struct submission *s)
{
    s->facts.unread = false;
    submission_ask_record(s, on_record);
}

static void look_own(struct submission *s, const char *stream, const char *stage,
                     void (*then)(struct submission *, ax_err, const struct stored_msg *))
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject(subject, stage, s->task.priority, s->task.pool, s->task.id);
    submission_ask_get(s, stream, subject, 0, then);
}

void submission_look_later(struct submission *s)
{
    char subject[SUBJECT_MAX_CHARS];
    snprintf(subject, sizeof(subject), "ax.*.*.%s.%s", s->task.pool, s->task.id); /* later, due */
    submission_ask_get(s, STREAM_LATER, subject, 0, on_later);
}

void submission_look_dead(struct submission *s)
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject_dead(subject, s->task.pool, s->task.id);
    submission_ask_get(s, STREAM_DEAD, subject, 0, on_dead);
}

void submission_look_work(struct submission *s)
{
    char subject[SUBJECT_MAX_CHARS];
    name_subject_work(subject, s->task.pool, s->task.id);
    submission_ask_get(s, STREAM_WORK, subject, 0, on_work);
}

void submission_look_queue(struct submission *s)
{
    look_own(s, s->queue->p.stream, "queue",
             s->facts.state == SUBMISSION_COMPARE_QUEUE ? on_compared : on_found);
}

void submission_look_spill(struct submission *s)
{
    look_own(s, STREAM_SPILL, "spill", on_compared);
}

void submission_look_delayed(struct submission *s)
{
    look_own(s, STREAM_LATER, "later", on_compared);
}
