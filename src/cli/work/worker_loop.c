#include "cli/work/worker_loop.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/work/worker_mail.h"

#define STOP_ACKS_MS 10000
#define BLIND_MS 50
#define DRAIN_MS 2000
#define DRAIN_EVERY_MS 20
#define LINGERING_EVERY_MS 100

/* What poll waits for: signals, mail, and two pipes of each command. */
enum { FD_SIGNALS, FD_MAIL, FD_JOBS };
struct poll_set {
    struct pollfd *fds;
    struct job **owners; /* of fds from FD_JOBS on */
    nfds_t count;
};

static void stop_commands(struct worker *w)
{
    log_warn("second signal: stopping the commands", "running=%d", w->running);
    struct job *j;
    DL_FOREACH(w->jobs, j)
        worker_tell(j);
}

static void begin_stop(struct worker *w)
{
    w->stopping = true;
    /* The server drops our interest, so that open pull requests bring nothing more; tasks that were
     * on their way still arrive. */
    if (natsSubscription_Drain(w->subs.list[WORKER_SUB_PULLS]) == NATS_OK)
        w->drain_by_ms = clock_now_ms() + DRAIN_MS;
    worker_clear_backlog(w, true);
    worker_mail_take(w);
    /* No new task counts on the places of the commands that still run. */
    reports_tick(&w->reports, 0, 0);
    log_info("stopping", "running=%d given_back=%" PRId64, w->running, w->tally.given_back);
}

static void read_signals(struct worker *w, int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        if (w->stopping)
            stop_commands(w);
        else
            begin_stop(w);
    }
    worker_reap(w);
}

static void check_job(struct worker *w, struct job *j, int64_t now_ms)
{
    if (j->kill_ms != 0 && j->kill_ms <= now_ms)
        job_kill(j);
    if (j->revoked || j->progress_ms > now_ms)
        return;
    worker_renew(w, j->msg);
    j->progress_ms = now_ms + w->progress_ms;
}

static void renew_backlog(struct worker *w, int64_t now_ms)
{
    int64_t latest_ms = now_ms + w->progress_ms;
    if (w->backlog == NULL || w->backlog_ms > latest_ms)
        w->backlog_ms = latest_ms;
    if (w->backlog_ms > now_ms)
        return;
    struct mail *m;
    DL_FOREACH(w->backlog, m)
        worker_renew(w, m->msg);
    w->backlog_ms = latest_ms;
}

static void start_backlog(struct worker *w)
{
    while (w->backlog != NULL && w->running < w->concurrency) {
        struct mail *m = w->backlog;
        DL_DELETE(w->backlog, m);
        worker_start(w, m->msg);
        m->msg = NULL;
        mailbox_free_mail(m);
    }
}

static int room(const struct worker *w)
{
    return starts_room(&w->starts, w->concurrency - w->running);
}

static void check_timers(struct worker *w)
{
    int64_t now_ms = clock_now_ms();
    struct job *j;
    guard_ensure(&w->guard); /* not now: then before the next command */
    DL_FOREACH(w->jobs, j)
        check_job(w, j, now_ms);
    renew_backlog(w, now_ms);
    if (acks_due_ms(&w->acks) <= now_ms)
        acks_repeat(&w->acks, false);
    if (w->stopping)
        return;
    reports_tick(&w->reports, w->running, w->concurrency);
    start_backlog(w);
    if (pulls_expire(&w->pulls))
        w->watch.due_ms = now_ms;
    if (w->watch.due_ms <= now_ms)
        worker_mail_ask_info(w);
    pulls_want(&w->pulls, w->backlog != NULL ? 0 : room(w), (w->concurrency + 3) / 4);
}

static int64_t sooner(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

static int wait_ms(const struct worker *w)
{
    int64_t now_ms = clock_now_ms(), due_ms = acks_due_ms(&w->acks);
    if (!w->stopping) {
        due_ms = sooner(due_ms, w->watch.due_ms);
        due_ms = sooner(due_ms, reports_due_ms(&w->reports));
        due_ms = sooner(due_ms, starts_due_ms(&w->starts));
        due_ms = w->backlog != NULL ? sooner(due_ms, w->backlog_ms) : due_ms;
        if (w->pulls.asked == 0 && room(w) > 0)
            due_ms = sooner(due_ms, w->pulls.not_before_ms);
    }
    if (w->drain_by_ms != 0 && w->running == 0)
        due_ms = sooner(due_ms, now_ms + DRAIN_EVERY_MS);
    const struct job *j;
    DL_FOREACH(w->jobs, j) {
        due_ms = j->revoked ? due_ms : sooner(due_ms, j->progress_ms);
        due_ms = j->kill_ms != 0 ? sooner(due_ms, j->kill_ms) : due_ms;
        /* Who is told of the end of the others in its group is their parent, not always we. */
        due_ms = j->ended ? sooner(due_ms, now_ms + LINGERING_EVERY_MS) : due_ms;
    }
    int64_t left_ms = due_ms - now_ms;
    return left_ms < 1 ? 1 : left_ms > 1000 ? 1000 : (int)left_ms;
}

/* What was on its way when the stop began has arrived. */
static bool has_drained(struct worker *w, int64_t now_ms)
{
    if (w->drain_by_ms > now_ms &&
        natsSubscription_WaitForDrainCompletion(w->subs.list[WORKER_SUB_PULLS], 1) == NATS_TIMEOUT)
        return false;
    w->drain_by_ms = 0;
    worker_mail_take(w);
    return true;
}

/* Stopping: the commands have ended, nothing more arrives, and their acks are confirmed or have
 * been waited for. */
static bool has_stopped(struct worker *w)
{
    if (!w->stopping || w->running > 0)
        return false;
    int64_t now_ms = clock_now_ms();
    if (!has_drained(w, now_ms))
        return false;
    if (w->stop_by_ms == 0)
        w->stop_by_ms = now_ms + STOP_ACKS_MS;
    return w->acks.count == 0 || w->stop_by_ms <= now_ms;
}

static void add_fd(struct poll_set *set, int fd, short events, struct job *owner)
{
    if (fd < 0)
        return;
    set->owners[set->count] = owner;
    set->fds[set->count++] = (struct pollfd){.fd = fd, .events = events};
}

static void fill(struct poll_set *set, const struct worker *w, int signals)
{
    set->count = 0;
    add_fd(set, signals, POLLIN, NULL);
    add_fd(set, w->box.fd, POLLIN, NULL);
    struct job *j;
    DL_FOREACH(w->jobs, j) {
        add_fd(set, j->in_fd, POLLOUT, j);
        add_fd(set, j->err.fd, POLLIN, j);
    }
}

static void handle_pipes(const struct poll_set *set)
{
    for (nfds_t i = FD_JOBS; i < set->count; i++) {
        struct job *j = set->owners[i];
        if (set->fds[i].revents && set->fds[i].fd == j->in_fd)
            job_write(j);
        else if (set->fds[i].revents)
            job_read(j);
    }
}

/* Where the kernel cannot tell what is ready, everything is looked at: nothing of it blocks. */
static void wait(struct poll_set *set, int most_ms)
{
    static struct log_gate gate;
    if (poll(set->fds, set->count, most_ms) >= 0 || errno == EINTR)
        return;
    log_limited(&gate, clock_now_ns(), LOG_WARN, "poll failed", "errno=%d files=%lu", errno,
                (unsigned long)set->count);
    nats_Sleep(BLIND_MS);
    for (nfds_t i = 0; i < set->count; i++)
        set->fds[i].revents = set->fds[i].events;
}

static void loop(struct worker *w, struct poll_set *set, int signals)
{
    for (;;) {
        check_timers(w);
        if (has_stopped(w))
            return;
        fill(set, w, signals);
        wait(set, wait_ms(w));
        handle_pipes(set);
        /* Signals are read first, and whatever poll saw: a task that has not started when a stop
         * arrives does not start. */
        read_signals(w, signals);
        if (set->fds[FD_MAIL].revents)
            worker_mail_take(w);
    }
}

int worker_loop_run(struct worker *w, int signals)
{
    size_t room = FD_JOBS + 2 * (size_t)w->concurrency;
    struct poll_set set = {.fds = calloc(room, sizeof(*set.fds)),
                           .owners = calloc(room, sizeof(struct job *))};
    int code = CLI_OK;
    if (set.fds != NULL && set.owners != NULL)
        loop(w, &set, signals);
    else
        code = say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
    free(set.fds);
    free(set.owners);
    return code;
}
