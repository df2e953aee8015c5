#include "cli/dead/dead_retry.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "bus/jserr.h"
#include "cli/dead/dead_letter.h"
#include "task/names.h"
#include "task/task.h"
#include "task/task_stored.h"

#define PUT_TRIES 5

/* The message that brings the task back as if it were submitted for the first time. */
static ax_err build(struct task *t, const struct stored *letter, int64_t now_ns, natsMsg **out)
{
    char subject[SUBJECT_MAX_CHARS];
    t->retried = letter->seq;
    t->attempt = 1;
    t->timeouts = t->given_back = 0;
    /* Its time to start has passed already; whoever asks for it again means it. */
    if (t->expires_ns != 0 && t->expires_ns <= now_ns)
        t->expires_ns = 0;
    name_subject(subject, "queue", t->priority, t->pool, t->id);
    ax_err err = task_to_msg(t, subject, NULL, out);
    if (err == AX_OK && natsMsgHeader_Set(*out, HDR_EXPECT_SUBJECT_SEQ, "0") != NATS_OK) {
        natsMsg_Destroy(*out);
        err = AX_E_NOMEM;
    }
    return err;
}

/* The queue has a message of this task. AX_OK: this letter has brought it back, so the letter may
 * go. AX_E_BUSY: it is the attempt that died, whose queue message is just being released, or
 * another submission of the key, which dispatch drops while the letter exists; if the letter were
 * deleted, the task would be lost. AX_E_NOT_FOUND: the message has gone meanwhile. */
static ax_err check_queue(natsConnection *nc, const struct priority *pr, const struct task *t,
                          const struct stored *letter, struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    struct stored queued = {0};
    name_subject(subject, "queue", t->priority, t->pool, t->id);
    ax_err err = stored_last(nc, pr->stream, subject, &queued, p);
    if (err != AX_OK)
        return err;
    const char *retried = stored_header(queued.msg, HDR_RETRIED);
    bool is_ours = retried != NULL && strtoull(retried, NULL, 10) == letter->seq;
    /* A letter without message id is a refused submission: no task of this key is dead. */
    bool has_key = stored_header(letter->msg, HDR_MSG_ID) != NULL;
    stored_clear(&queued);
    if (is_ours || !has_key)
        return AX_OK;
    return problem_set(
        p, AX_E_BUSY, "its last attempt, or another submission of its key, is just being released");
}

/* *err_code: what the queue refused with, 0: nothing. */
static ax_err put_back(natsConnection *nc, const struct priority *pr, int64_t now_ns,
                       struct task *t, const struct stored *letter, int *err_code,
                       struct problem *p)
{
    natsMsg *msg = NULL;
    ax_err err = build(t, letter, now_ns, &msg);
    if (err != AX_OK)
        return problem_set(p, err, "%s: %s", t->id, ax_err_text(err));
    FAULT("dead-retry.publish.before");
    for (int i = 0; i < PUT_TRIES; i++) {
        err = stored_publish(nc, msg, err_code, p);
        if (err != AX_E_SERVER || *err_code != JSERR_WRONG_LAST_SEQ)
            break;
        err = check_queue(nc, pr, t, letter, p);
        if (err != AX_E_NOT_FOUND)
            break;
    }
    FAULT("dead-retry.publish.after");
    natsMsg_Destroy(msg);
    return err;
}

static enum dead_retry_outcome retry_task(natsConnection *nc, struct dead_retry *r, struct task *t,
                                          const struct stored *letter, struct problem *p)
{
    int err_code = 0;
    int at = priorities_find(r->priorities, t->priority);
    if (at < 0) {
        problem_set(p, AX_E_NOT_FOUND,
                    "%s: there is no queue for priority %s: name another one with --priority",
                    t->id, t->priority);
        return DEAD_RETRY_FAILED;
    }
    ax_err err = AX_E_FULL;
    if (!r->is_full[at]) {
        err = put_back(nc, &r->priorities->list[at], clock_ax_ns(r->clock), t, letter, &err_code,
                       p);
    }
    if (err != AX_OK && (r->is_full[at] || err_code == JSERR_STORE_FULL)) {
        r->is_full[at] = true;
        problem_set(p, err, "%s: queue %s is full; the dead letter stays", t->id, t->priority);
        return DEAD_RETRY_FULL;
    }
    if (err == AX_E_BUSY) {
        struct problem why = *p;
        problem_set(p, err, "%s: %.200s; the dead letter stays, try again in a moment", t->id,
                    why.text);
        return DEAD_RETRY_HELD;
    }
    if (err == AX_OK)
        err = dead_letter_delete(nc, letter, p);
    return err == AX_OK ? DEAD_RETRY_QUEUED : DEAD_RETRY_FAILED;
}

enum dead_retry_outcome dead_retry(natsConnection *nc, struct dead_retry *r,
                                   const struct stored *letter, struct problem *p)
{
    struct task t = {0};
    if (task_stored_read_at(&t, letter->subject, letter->msg, p) != AX_OK)
        return DEAD_RETRY_FAILED;
    if (r->priority != NULL)
        snprintf(t.priority, sizeof(t.priority), "%s", r->priority);
    enum dead_retry_outcome outcome = retry_task(nc, r, &t, letter, p);
    snprintf(r->task, sizeof(r->task), "%s", t.id);
    snprintf(r->pool, sizeof(r->pool), "%s", t.pool);
    snprintf(r->queue, sizeof(r->queue), "%s", t.priority);
    task_clear(&t);
    return outcome;
}
