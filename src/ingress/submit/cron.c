/* Storing the schedule of a recurring task. */
#include "ingress/submit/cron.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/pipeline_get.h"
#include "ingress/key_index.h"
#include "ingress/queue/queue.h"
#include "ingress/submit/submit.h"
#include "ingress/submit/submit_steps.h"
#include "task/header.h"
#include "task/task_stored.h"

#define GET_WAIT_MS 3000
#define ROUNDS_MAX 20

static void step_store(struct submit *s);
static void step_look_older(struct submit *s);
static void step_remove_old(struct submit *s);

static void found_one(struct submit *s, const struct stored_msg *found, const struct task *there)
{
    struct verdict v;
    if (there->cron == NULL) {
        verdict_error(&v, 400, JSERR_BAD_REQUEST, 0,
                      "Ax-Cron: the key names task %s, which is not recurring and waits in "
                      "AX_LATER; use another key, or "
                      "cancel that task",
                      s->task.id);
        submit_reject(s, REFUSED_CRON, &v);
    } else if (there->submitted == s->task.submitted) {
        s->seq = found->seq; /* an earlier try of ours */
        submit_run(s, step_look_older);
    } else if (task_is_same(&s->task, there)) {
        /* A deployment that submits its schedules each time must not put off an "@every 1h" for
         * ever. */
        s->same = true;
        s->seq = found->seq;
        submit_run(s, step_look_older);
    } else {
        s->paused = cron_is_paused(found->msg);
        s->seq = strcmp(there->priority, s->task.priority) == 0 ? found->seq : 0;
        submit_run(s, step_store);
    }
}

static void on_look(void *arg, ax_err err, const struct stored_msg *found)
{
    struct submit *s = arg;
    struct task there;
    struct problem p;
    if (err == AX_E_NOT_FOUND) {
        s->seq = 0;
        submit_run(s, step_store);
    } else if (err != AX_OK ||
               task_stored_read_at(&there, found->subject, found->msg, &p) != AX_OK) {
        submit_again(s);
    } else {
        found_one(s, found, &there);
        task_clear(&there);
    }
}

void cron_step_look(struct submit *s)
{
    char subject[SUBJECT_MAX_CHARS];
    snprintf(subject, sizeof(subject), "ax.later.*.%s.%s", s->task.pool, s->task.id);
    ax_err err = submit_has_room(s)
                     ? pipeline_get(s->ing->pipe, STREAM_LATER, subject, 0, GET_WAIT_MS, on_look, s)
                     : AX_E_BUSY;
    if (err != AX_OK)
        submit_not_asked(s, err);
}

static void on_stored(void *arg, const struct answer *a)
{
    struct submit *s = arg;
    struct verdict v;
    struct problem p = {0};
    FAULT_IF(a->err == AX_OK, "cron.store.after");
    if (a->err == AX_OK) {
        if (s->seq == 0)
            later_added(&s->ing->later);
        metric_add(s->ing->counters.accepted_later, 1);
        s->seq = a->seq;
        submit_run(s, step_look_older);
    } else if (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ) {
        /* Somebody replaced it at the same moment. */
        s->step = cron_step_look;
        if (++s->rounds < ROUNDS_MAX)
            submit_wait(s);
        else
            submit_again(s);
    } else if (a->err == AX_E_SERVER &&
               (a->err_code == JSERR_SCHEDULE_PATTERN || a->err_code == JSERR_SCHEDULE_ZONE)) {
        cron_refused(&s->task, a->err_code == JSERR_SCHEDULE_ZONE, &p);
        submit_refuse(s, REFUSED_CRON, &p);
    } else {
        verdict_error(&v, a->code >= 400 && a->code < 600 ? a->code : 503, a->err_code, 0,
                      "stream %s refuses the task: %s", STREAM_LATER,
                      a->err == AX_E_SERVER ? a->description : ax_err_text(a->err));
        submit_reject(s, REFUSED_SERVER, &v);
    }
}

static void step_store(struct submit *s)
{
    char reply[PIPELINE_REPLY_MAX], subject[SUBJECT_MAX_CHARS], expected[24];
    natsMsg *msg = NULL;
    ax_err err = submit_has_room(s) ? pipeline_reserve(s->ing->pipe, reply) : AX_E_BUSY;
    if (err != AX_OK) {
        submit_not_asked(s, err);
        return;
    }
    key_index_goes_later(s->ing->key_index, s->task.id, s->due_ns);
    name_subject(subject, "later", s->task.priority, s->task.pool, s->task.id);
    snprintf(expected, sizeof(expected), "%" PRIu64, s->seq);
    err = task_to_msg(&s->task, subject, reply, &msg);
    if (err == AX_OK)
        err = cron_set_schedule(msg, &s->task, s->paused);
    if (err == AX_OK && header_set(msg, HDR_EXPECT_SUBJECT_SEQ, expected) != NATS_OK)
        err = AX_E_NOMEM;
    if (err != AX_OK) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    FAULT("cron.store.before");
    ax_err sent = pipeline_publish(s->ing->pipe, reply, msg, 0, on_stored, s);
    if (sent != AX_OK)
        submit_not_asked(s, err != AX_OK ? err : sent);
}

static void on_removed(void *arg, const struct answer *a)
{
    struct submit *s = arg;
    FAULT("cron.remove-old.after");
    if (a->err != AX_OK) {
        submit_again(s);
        return;
    }
    submit_run(s, step_look_older); /* the answer may be that it is gone already */
}

static void on_older(void *arg, ax_err err, const struct stored_msg *found)
{
    struct submit *s = arg;
    const char *cron = NULL;
    if (err == AX_OK && found->seq < s->seq &&
        natsMsgHeader_Get(found->msg, HDR_CRON, &cron) == NATS_OK) {
        /* the server did not remove it: not at once again */
        bool stays = found->seq == s->replaced;
        s->replaced = found->seq;
        s->step = step_remove_old;
        if (stays)
            submit_again(s);
        else
            step_remove_old(s);
    } else if (err != AX_OK && err != AX_E_NOT_FOUND) {
        submit_again(s);
    } else if (s->same) {
        submit_known(s, STREAM_LATER, s->seq, STATE_LATER);
    } else {
        submit_taken(s, STREAM_LATER, s->seq);
    }
}

/* One that had another priority: the new one did not take its place. Looked for each time, since
 * whoever replaced it may have died before it came to removing it. Of two that replace each other
 * at once the later one stays. */
static void step_look_older(struct submit *s)
{
    char subject[SUBJECT_MAX_CHARS];
    snprintf(subject, sizeof(subject), "ax.later.*.%s.%s", s->task.pool, s->task.id);
    ax_err err = submit_has_room(s) ? pipeline_get(s->ing->pipe, STREAM_LATER, subject, 1,
                                                   GET_WAIT_MS, on_older, s)
                                    : AX_E_BUSY;
    if (err != AX_OK)
        submit_not_asked(s, err);
}

static void step_remove_old(struct submit *s)
{
    char payload[64];
    FAULT("cron.remove-old.before");
    int n = snprintf(payload, sizeof(payload), "{\"seq\":%" PRIu64 ",\"no_erase\":true}",
                     s->replaced);
    ax_err err = submit_has_room(s)
                     ? pipeline_request(s->ing->pipe, "$JS.API.STREAM.MSG.DELETE." STREAM_LATER,
                                        payload, (size_t)n, GET_WAIT_MS, on_removed, s)
                     : AX_E_BUSY;
    if (err != AX_OK)
        submit_not_asked(s, err);
}
