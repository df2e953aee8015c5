#include "cli/work/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/wait.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "bus/ack.h"

/* The delay of a nak that gives a task back: without one the pool's backoff would apply, and
 * another worker would get the task later. */
#define GIVE_BACK_MS 1

void worker_renew(struct worker *w, natsMsg *msg)
{
    natsConnection_PublishString(w->nc, natsMsg_GetReply(msg), ACK_TEXT_PROGRESS);
}

void worker_start(struct worker *w, natsMsg *msg)
{
    struct job *j = NULL;
    if (job_start(&j, msg, &w->setup) != JOB_STARTED) {
        log_warn("command could not be started", "subject=%s errno=%d", natsMsg_GetSubject(msg),
                 errno);
        if (natsMsg_GetReply(msg) != NULL)
            acks_send(&w->acks, natsMsg_GetReply(msg), ACK_TEXT_NAK);
        natsMsg_Destroy(msg);
        return;
    }
    j->started_ms = clock_now_ms();
    j->progress_ms = j->started_ms + w->progress_ms;
    DL_PREPEND(w->jobs, j);
    w->running++;
    log_debug("task started", "task=%s fence=%" PRIu64, j->id, j->fence);
}

void worker_give_back(struct worker *w, natsMsg *msg)
{
    char nak[ACK_NAK_MAX];
    acks_send(&w->acks, natsMsg_GetReply(msg), ack_nak(GIVE_BACK_MS, nak));
    w->tally.given_back++;
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
    }
}

static void log_end(const struct job *j, enum job_verdict verdict, int status)
{
    if (verdict == JOB_ACK) {
        log_debug("task done", "task=%s", j->id);
    } else if (WIFSIGNALED(status)) {
        log_info("command killed", "task=%s signal=%d ack=nak", j->id, WTERMSIG(status));
    } else {
        log_info("command failed", "task=%s exit=%d ack=%s", j->id, WEXITSTATUS(status),
                 verdict == JOB_TERM ? "term" : "nak");
    }
}

static void finish(struct worker *w, struct job *j, int status)
{
    char payload[ACKS_PAYLOAD_MAX];
    enum job_verdict verdict = job_verdict(status);
    if (j->revoked) {
        log_info("superseded attempt ended, no ack", "task=%s fence=%" PRIu64, j->id, j->fence);
        return;
    }
    job_ack(j, verdict, payload, sizeof(payload));
    acks_send(&w->acks, natsMsg_GetReply(j->msg), payload);
    reports_ended(&w->reports, verdict == JOB_ACK, clock_now_ms() - j->started_ms);
    count(&w->tally, verdict);
    log_end(j, verdict, status);
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
        if (!job_is_over(j))
            continue;
        DL_DELETE(w->jobs, j);
        w->running--;
        finish(w, j, j->status);
        job_free(j);
    }
}
