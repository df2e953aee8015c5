#include "cli/work/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/wait.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "bus/ack.h"

/* How long after a command that was stopped from outside a stop of ours may follow. */
#define STOP_FOLLOWS_MS 1000

void worker_renew(struct worker *w, natsMsg *msg)
{
    natsConnection_PublishString(w->nc, natsMsg_GetReply(msg), ACK_TEXT_PROGRESS);
}

void worker_give_back(struct worker *w, natsMsg *msg)
{
    acks_send(&w->acks, natsMsg_GetReply(msg), ACK_TEXT_GIVEN_BACK);
    w->tally.given_back++;
}

/* Nothing that dispatch has handed off: whatever it is, it is not tried here again and again. */
static void refuse(struct worker *w, natsMsg *msg)
{
    log_warn("message is no task, not started", "subject=%s", natsMsg_GetSubject(msg));
    if (natsMsg_GetReply(msg) != NULL)
        acks_send(&w->acks, natsMsg_GetReply(msg), "+TERM no task");
}

/* msg is taken. */
static void on_started(struct worker *w, struct job *j)
{
    j->started_ms = clock_now_ms();
    j->progress_ms = j->started_ms + w->progress_ms;
    starts_ok(&w->starts, false);
    DL_PREPEND(w->jobs, j);
    w->running++;
    log_debug("task started", "task=%s fence=%" PRIu64, j->id, j->fence);
}

void worker_start(struct worker *w, natsMsg *msg)
{
    struct job *j = NULL;
    enum job_start how = JOB_NOT_STARTED;
    if (!starts_wait(&w->starts)) {
        how = job_start(&j, msg, &w->setup);
        if (how == JOB_NOT_STARTED)
            starts_failed(&w->starts, errno, false);
    }
    if (how == JOB_STARTED) {
        on_started(w, j);
        return;
    }
    if (how == JOB_NO_TASK)
        refuse(w, msg);
    else
        worker_give_back(w, msg);
    natsMsg_Destroy(msg);
}

void worker_clear_backlog(struct worker *w, bool give_back)
{
    struct mail *m, *next;
    DL_FOREACH_SAFE(w->backlog, m, next) {
        if (give_back)
            worker_give_back(w, m->msg);
        mailbox_free_mail(m);
    }
    w->backlog = NULL;
}

void worker_revoke(struct job *j)
{
    if (j->revoked)
        return;
    j->revoked = true;
    job_stop(j);
}

void worker_tell(struct job *j)
{
    if (j->ended || j->revoked)
        return;
    j->told = true;
    job_stop(j);
}

static void count(struct worker_tally *t, enum job_verdict verdict)
{
    switch (verdict) {
    case JOB_ACK:
        t->done++;
        break;
    case JOB_NAK:
        t->failed++;
        break;
    case JOB_TERM:
        t->terminated++;
        break;
    case JOB_GIVE_BACK:
        t->given_back++;
        break;
    }
}

static void log_end(const struct job *j, enum job_verdict verdict)
{
    int start_error = job_start_error(j);
    if (verdict == JOB_ACK)
        log_debug("task done", "task=%s", j->id);
    else if (start_error != 0)
        log_debug("command not started, task given back", "task=%s errno=%d", j->id, start_error);
    else if (verdict == JOB_GIVE_BACK)
        log_info("command stopped, task given back", "task=%s", j->id);
    else if (WIFSIGNALED(j->status))
        log_info("command killed", "task=%s signal=%d ack=nak", j->id, WTERMSIG(j->status));
    else {
        log_info("command failed", "task=%s exit=%d ack=%s", j->id, WEXITSTATUS(j->status),
                 verdict == JOB_TERM ? "term" : "nak");
    }
}

/* A failure counts only where it is the task's. */
static enum job_verdict judge(struct worker *w, const struct job *j)
{
    enum job_verdict verdict = job_verdict(j->status);
    int start_error = job_start_error(j);
    if (start_error != 0)
        starts_failed(&w->starts, start_error, true);
    else
        starts_ok(&w->starts, true);
    bool stop = j->told || (w->stopping && j->outside);
    return start_error != 0 || (verdict == JOB_NAK && stop) ? JOB_GIVE_BACK : verdict;
}

static void finish(struct worker *w, struct job *j)
{
    char payload[ACKS_PAYLOAD_MAX];
    enum job_verdict verdict = judge(w, j);
    if (j->revoked) {
        log_info("superseded attempt ended, no ack", "task=%s fence=%" PRIu64, j->id, j->fence);
        return;
    }
    job_ack(j, verdict, payload, sizeof(payload));
    acks_send(&w->acks, natsMsg_GetReply(j->msg), payload);
    if (verdict != JOB_GIVE_BACK)
        reports_ended(&w->reports, verdict == JOB_ACK, clock_now_ms() - j->started_ms);
    count(&w->tally, verdict);
    log_end(j, verdict);
}

/* What was stopped from outside is judged when it is known whether we are to stop, too: whoever
 * stops all processes of a service may tell us a moment later. */
static bool is_judged_later(const struct worker *w, const struct job *j)
{
    return !w->stopping && !j->revoked && j->outside &&
           clock_now_ms() - j->ended_ms < STOP_FOLLOWS_MS;
}

/* Every child that has ended: commands, the guard, and what commands left behind, whose parent we
 * become (cmd_work.c). */
static void collect(struct worker *w)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        struct job *j;
        if (guard_on_exit(&w->guard, pid)) {
            log_warn("the guard of the commands was killed, another one is started", NULL);
            continue;
        }
        DL_SEARCH_SCALAR(w->jobs, j, pid, pid);
        if (j != NULL)
            job_on_exit(j, status);
    }
}

void worker_reap(struct worker *w)
{
    struct job *j, *next;
    collect(w);
    DL_FOREACH_SAFE(w->jobs, j, next) {
        if (!job_is_over(j) || is_judged_later(w, j))
            continue;
        DL_DELETE(w->jobs, j);
        w->running--;
        finish(w, j);
        job_free(j);
    }
}
