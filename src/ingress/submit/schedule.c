#include "ingress/submit/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "ingress/key_index.h"
#include "ingress/schedules.h"
#include "ingress/submit/submission_ask.h"
#include "ingress/submit/submission_store.h"
#include "task/cron.h"
#include "task/header.h"
#include "task/task_stored.h"

#define RETRY_MS 60000 /* until somebody has removed a schedule */

static void found_one(struct submission *s, const struct stored_msg *found,
                      const struct task *there)
{
    struct verdict v;
    s->answer.seq = found->seq;
    if (there->cron == NULL) {
        answer_set_error(&v, 400, JSERR_BAD_REQUEST, 0,
                         "Ax-Cron: the key names task %s, which is not recurring and waits in "
                         "AX_LATER; use another key, or cancel that task",
                         s->task.id);
        submission_refuse(s, REFUSED_CRON, &v);
    } else if (there->submitted == s->task.submitted) {
        submission_event(s, SUBMISSION_OURS);
    } else if (task_is_same(&s->task, there)) {
        /* A deployment that submits its schedules each time must not put off an "@every 1h" for
         * ever. */
        submission_event(s, SUBMISSION_SAME);
    } else {
        s->schedule.paused = cron_is_paused(found->msg);
        s->schedule.replaces = strcmp(there->priority, s->task.priority) == 0 ? found->seq : 0;
        submission_event(s, SUBMISSION_FOUND);
    }
}

/* The number of schedules is bounded; one that is replaced is none more. */
static bool refuse_one_more(struct submission *s)
{
    const struct schedules *all = s->ing->schedules;
    int64_t max = s->ing->later.max_schedules;
    struct over_quota over;
    struct verdict v;
    enum schedules_room room = schedules_room(all, s->task.pool, &over);
    if (room == SCHEDULES_ROOM)
        return false;
    if (room == SCHEDULES_FULL) {
        answer_set_error(&v, 503, JSERR_STORE_FULL, RETRY_MS,
                         "AX_LATER has %" PRId64 " schedules, ax.max_schedules (%" PRId64
                         ") allows no more; remove some with: ax cron rm; retry in %dms",
                         schedules_count(all), max, RETRY_MS);
    } else {
        answer_set_error(&v, 503, JSERR_STORE_FULL, RETRY_MS,
                         "AX_LATER: pool \"%s\" has %" PRId64 " of %" PRId64
                         " schedules, the rest is kept for other pools, retry in %dms",
                         s->task.pool, over.held, max, RETRY_MS);
    }
    submission_refuse(s, REFUSED_SCHEDULES, &v);
    return true;
}

static void on_look(struct submission *s, ax_err err, const struct stored_msg *found)
{
    struct task there;
    struct problem p;
    if (err == AX_E_NOT_FOUND) {
        s->schedule.replaces = 0;
        if (!refuse_one_more(s))
            submission_event(s, SUBMISSION_NOT_FOUND);
    } else if (err != AX_OK ||
               task_stored_read_at(&there, found->subject, found->msg, &p) != AX_OK) {
        submission_event(s, SUBMISSION_NO_ANSWER);
    } else {
        found_one(s, found, &there);
        task_clear(&there);
    }
}

static void look(struct submission *s, uint64_t from_seq,
                 void (*then)(struct submission *, ax_err, const struct stored_msg *))
{
    char subject[SUBJECT_MAX_CHARS];
    snprintf(subject, sizeof(subject), "ax.later.*.%s.%s", s->task.pool, s->task.id);
    submission_ask_get(s, STREAM_LATER, subject, from_seq, then);
}

void schedule_look(struct submission *s)
{
    look(s, 0, on_look);
}

static void on_stored(struct submission *s, const struct answer *a)
{
    struct problem p = {0};
    FAULT_IF(a->err == AX_OK, "cron.store.after");
    later_settled(&s->ing->later, &s->later, a->err == AX_OK && s->schedule.replaces == 0);
    if (a->err == AX_OK) {
        metric_add(s->ing->counters.accepted_later, 1);
        s->answer.seq = a->seq;
        submission_event(s, SUBMISSION_STORED);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ) {
        submission_event(s, SUBMISSION_EXISTS);
    } else if (a->err == AX_E_SERVER &&
               (a->err_code == JSERR_SCHEDULE_PATTERN || a->err_code == JSERR_SCHEDULE_ZONE)) {
        cron_refused(&s->task, a->err_code == JSERR_SCHEDULE_ZONE, &p);
        submission_refuse_for(s, REFUSED_CRON, &p);
    } else {
        submission_store_refused(s, STREAM_LATER, a);
    }
}

void schedule_store(struct submission *s)
{
    char reply[PIPELINE_REPLY_MAX], subject[SUBJECT_MAX_CHARS], expected[24];
    natsMsg *msg = NULL;
    if (!submission_ask_reserve(s, reply))
        return;
    key_index_goes_later(s->ing->key_index, s->task.id, s->due_ns);
    schedules_saw(s->ing->schedules, s->task.pool, s->task.id);
    name_subject(subject, "later", s->task.priority, s->task.pool, s->task.id);
    snprintf(expected, sizeof(expected), "%" PRIu64, s->schedule.replaces);
    ax_err err = task_to_msg(&s->task, subject, reply, &msg);
    if (err == AX_OK)
        err = cron_set_schedule(msg, &s->task, s->schedule.paused);
    if (err == AX_OK && header_set(msg, HDR_EXPECT_SUBJECT_SEQ, expected) != NATS_OK)
        err = AX_E_NOMEM;
    if (err != AX_OK) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    FAULT("cron.store.before");
    submission_ask_publish(s, reply, msg, on_stored);
}

static void on_older(struct submission *s, ax_err err, const struct stored_msg *found)
{
    const char *cron = NULL;
    if (err == AX_OK && found->seq < s->answer.seq &&
        natsMsgHeader_Get(found->msg, HDR_CRON, &cron) == NATS_OK) {
        /* The server did not remove it: do not ask again at once. */
        s->facts.stayed = found->seq == s->schedule.older;
        s->schedule.older = found->seq;
        submission_event(s, SUBMISSION_FOUND);
    } else if (err != AX_OK && err != AX_E_NOT_FOUND) {
        submission_event(s, SUBMISSION_NO_ANSWER);
    } else {
        submission_event(s, SUBMISSION_NOT_FOUND);
    }
}

void schedule_look_older(struct submission *s)
{
    look(s, 1, on_older);
}

/* The server may say that it was gone already; the next look tells. */
static void on_removed(struct submission *s, const struct answer *a)
{
    FAULT("cron.remove-old.after");
    submission_event(s, a->err == AX_OK ? SUBMISSION_REMOVED : SUBMISSION_NO_ANSWER);
}

void schedule_remove_older(struct submission *s)
{
    char payload[64];
    FAULT("cron.remove-old.before");
    snprintf(payload, sizeof(payload), "{\"seq\":%" PRIu64 ",\"no_erase\":true}",
             s->schedule.older);
    submission_ask_request(s, "$JS.API.STREAM.MSG.DELETE." STREAM_LATER, payload, on_removed);
}
