/* `ax work`: one loop over the mailbox, signals, and the pipes of the commands that run. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bus/ack.h"
#include "bus/connect.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/pool.h"
#include "cli/stored.h"
#include "cli/work/work.h"
#include "task/peer/instance.h"
#include "task/peer/lease.h"

#define ACK_WAIT_DEFAULT_MS 30000
#define INFO_EVERY_MS 10000
#define INFO_MISSING_MS 500
#define KILL_GRACE_MS 5000
#define STOP_RECEIPTS_MS 10000
#define DRAIN_MS 2000
/* Given back for another worker at once, but as a nak with a delay: without one the pool's backoff
 * would apply. */
#define GIVE_BACK_MS 1

const char cmd_work_detail[] =
    "Runs /bin/sh -c CMD for every task, body on stdin, with AX_TASK, AX_KEY, AX_ATTEMPT, "
    "AX_FENCE, AX_PRIORITY and\n"
    "AX_POOL in the environment. Exit code 0: ack. 65: dead letter at once, the last line of "
    "stderr is the reason.\n"
    "75, any other, or killed by a signal: nak, the task is tried again after its backoff.\n"
    "While the command runs, its lease is renewed. When the attempt is superseded, the command is "
    "stopped.\n"
    "On SIGTERM or SIGINT: nothing new is started, what runs is finished, what came and did not "
    "start is given back,\n"
    "which counts as an attempt. A second signal stops the commands, too. The pool is added when "
    "it is not there.";

struct work {
    struct wire_events events;
    natsConnection *nc;
    const char *pool, *command;
    int concurrency;
    struct mailbox box;
    struct mail_slot slots[4];
    natsSubscription *pull_sub, *control_sub, *revoke_sub, *deleted_sub;
    char pull_inbox[80], control_inbox[80];
    struct pulls pulls;
    struct receipts receipts;
    struct reports reports;
    struct job *jobs;
    int running;
    /* came without a free slot: kept, renewed, started next */
    struct mail *backlog, **backlog_last;
    int64_t progress_ms; /* how often to renew */
    int64_t info_ms;     /* when to read stream and consumer next */
    char created[40];    /* AX_WORK's creation; "": not known */
    int64_t stop_by_ms;  /* stopping: receipts are waited for until then */
    bool stopping;
    int64_t done, failed, terminated, given_back;
};

static void renew(struct work *w, natsMsg *msg)
{
    natsConnection_PublishString(w->nc, natsMsg_GetReply(msg), ACK_TEXT_PROGRESS);
}

static void start(struct work *w, natsMsg *msg)
{
    struct job *j = job_start(msg, w->command);
    if (!j) {
        log_warn("command could not be started", "subject=%s errno=%d", natsMsg_GetSubject(msg),
                 errno);
        if (natsMsg_GetReply(msg))
            receipts_send(&w->receipts, natsMsg_GetReply(msg), ACK_TEXT_NAK);
        natsMsg_Destroy(msg);
        return;
    }
    j->started_ms = clock_now_ms();
    j->progress_ms = j->started_ms + w->progress_ms;
    j->next = w->jobs;
    w->jobs = j;
    w->running++;
    log_debug("task started", "task=%s fence=%" PRIu64, j->id, j->fence);
}

static void give_back(struct work *w, natsMsg *msg)
{
    char nak[ACK_NAK_MAX];
    receipts_send(&w->receipts, natsMsg_GetReply(msg), ack_nak(GIVE_BACK_MS, nak));
    w->given_back++;
}

/* A task goes into a slot, into the backlog when the server sent more than there are, or back when
 * we stop. */
static void on_pull(struct work *w, struct mail *m)
{
    const char *subject = natsMsg_GetSubject(m->msg);
    size_t n = strlen(w->pull_inbox);
    if (strncmp(subject, w->pull_inbox, n) == 0 && subject[n] == '.') {
        pulls_status(&w->pulls, strtoull(subject + n + 1, NULL, 10), m->msg);
        if (w->pulls.missing)
            w->info_ms = clock_now_ms() + INFO_MISSING_MS;
    } else if (natsMsg_GetReply(m->msg)) {
        pulls_got(&w->pulls);
        if (w->stopping) {
            give_back(w, m->msg);
        } else if (w->running < w->concurrency) {
            start(w, m->msg);
            m->msg = NULL;
        } else {
            m->next = NULL;
            *w->backlog_last = m;
            w->backlog_last = &m->next;
            return;
        }
    }
    mail_free(m);
}

/* AX_WORK is another one than before. Its sequences start anew, so a receipt for what the old one
 * held would be taken for another task's: nothing of it may be acked any more. The dispatcher hands
 * it over again. */
static void forget_all(struct work *w)
{
    log_warn("AX_WORK was recreated: what came from the old one is stopped, without receipt",
             "running=%d", w->running);
    receipts_free(&w->receipts);
    for (struct mail *m = w->backlog, *next; m; m = next) {
        next = m->next;
        mail_free(m);
    }
    w->backlog = NULL;
    w->backlog_last = &w->backlog;
    for (struct job *j = w->jobs; j; j = j->next) {
        if (!j->revoked) {
            j->revoked = true;
            job_stop(j, KILL_GRACE_MS);
        }
    }
    pulls_reset(&w->pulls);
    w->created[0] = '\0';
    w->info_ms = 0;
}

static void on_stream(struct work *w, natsMsg *msg)
{
    json_t *root = json_loadb(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), 0, NULL);
    const char *created = json_string_value(json_object_get(root, "created"));
    if (created) {
        if (w->created[0] && strcmp(w->created, created) != 0)
            forget_all(w);
        snprintf(w->created, sizeof(w->created), "%s", created);
    }
    json_decref(root);
}

static void on_info(struct work *w, natsMsg *msg)
{
    json_t *root = json_loadb(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), 0, NULL);
    json_t *config = json_object_get(root, "config");
    if (config) {
        int64_t ack_wait_ms = (int64_t)json_integer_value(json_object_get(config, "ack_wait")) /
                              1000000;
        w->progress_ms = ack_wait_ms / 3 > 10 ? ack_wait_ms / 3 : 10;
        if (w->pulls.missing)
            log_info("consumer is there again", "pool=%s", w->pool);
        w->pulls.missing = false;
        int64_t latest_ms = clock_now_ms() + w->progress_ms;
        for (struct job *j = w->jobs; j; j = j->next)
            j->progress_ms = j->progress_ms > latest_ms ? latest_ms : j->progress_ms;
    } else if (json_integer_value(json_object_get(json_object_get(root, "error"), "code")) == 404) {
        if (!w->pulls.missing)
            log_warn("the pool's consumer is gone; waiting for it", "pool=%s", w->pool);
        w->pulls.missing = true;
        pulls_reset(&w->pulls);
        w->info_ms = clock_now_ms() + INFO_MISSING_MS;
    }
    json_decref(root);
}

static void on_revoke(struct work *w, natsMsg *msg)
{
    char text[32];
    const char *id = strrchr(natsMsg_GetSubject(msg), '.') + 1;
    snprintf(text, sizeof(text), "%.*s", natsMsg_GetDataLength(msg), natsMsg_GetData(msg));
    uint64_t newer = strtoull(text, NULL, 10);
    for (struct job *j = w->jobs; j; j = j->next) {
        if (strcmp(j->id, id) != 0 || j->fence >= newer || j->revoked)
            continue;
        log_warn("attempt superseded, its command is stopped",
                 "task=%s fence=%" PRIu64 " newer=%" PRIu64, j->id, j->fence, newer);
        j->revoked = true;
        job_stop(j, KILL_GRACE_MS);
    }
}

static void on_control(struct work *w, natsMsg *msg)
{
    const char *tail = natsMsg_GetSubject(msg) + strlen(w->control_inbox) + 1;
    if (strcmp(tail, "info") == 0)
        on_info(w, msg);
    else if (strcmp(tail, "stream") == 0)
        on_stream(w, msg);
    else if (strncmp(tail, "ack.", 4) == 0 && !natsMsg_IsNoResponders(msg))
        receipts_confirmed(&w->receipts, strtoull(tail + 4, NULL, 10));
}

static void take_mail(struct work *w)
{
    for (struct mail *m = mailbox_take(&w->box), *next; m; m = next) {
        next = m->next;
        switch (m->kind) {
        case MAIL_PULL:
            on_pull(w, m);
            continue;
        case MAIL_CONTROL:
            on_control(w, m->msg);
            break;
        case MAIL_REVOKE:
            on_revoke(w, m->msg);
            break;
        case MAIL_STREAM_DELETED:
            forget_all(w);
            break;
        case MAIL_RECONNECTED:
            pulls_reset(&w->pulls);
            receipts_repeat(&w->receipts, true);
            w->info_ms = 0;
            break;
        }
        mail_free(m);
    }
}

static void ask_info(struct work *w)
{
    char subject[128], reply[96];
    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.INFO.%s.%s", STREAM_WORK, w->pool);
    snprintf(reply, sizeof(reply), "%s.info", w->control_inbox);
    natsConnection_PublishRequest(w->nc, subject, reply, "", 0);
    snprintf(reply, sizeof(reply), "%s.stream", w->control_inbox);
    natsConnection_PublishRequest(w->nc, "$JS.API.STREAM.INFO." STREAM_WORK, reply, "", 0);
    w->info_ms = clock_now_ms() + (w->pulls.missing ? INFO_MISSING_MS : INFO_EVERY_MS);
}

static void finish(struct work *w, struct job *j, int status)
{
    char buf[300];
    const char *receipt = job_receipt(j, status, buf, sizeof(buf));
    if (j->revoked) {
        log_info("superseded attempt ended, no receipt", "task=%s fence=%" PRIu64, j->id, j->fence);
        return;
    }
    receipts_send(&w->receipts, natsMsg_GetReply(j->msg), receipt);
    reports_ended(&w->reports, receipt[1] == 'A', clock_now_ms() - j->started_ms);
    if (receipt[1] == 'A')
        w->done++;
    else if (receipt[1] == 'T')
        w->terminated++;
    else
        w->failed++;
    if (receipt[1] == 'A')
        log_debug("task done", "task=%s", j->id);
    else if (WIFSIGNALED(status))
        log_info("command killed", "task=%s signal=%d receipt=nak", j->id, WTERMSIG(status));
    else {
        log_info("command failed", "task=%s exit=%d receipt=%s", j->id, WEXITSTATUS(status),
                 receipt[1] == 'T' ? "term" : "nak");
    }
}

static void reap(struct work *w)
{
    for (struct job **at = &w->jobs; *at;) {
        struct job *j = *at;
        int status = 0;
        if (!job_ended(j, &status)) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        w->running--;
        finish(w, j, status);
        job_free(j);
    }
}

static void begin_stop(struct work *w)
{
    if (w->stopping) {
        log_warn("second signal: stopping the commands", "running=%d", w->running);
        for (struct job *j = w->jobs; j; j = j->next) {
            if (!j->kill_ms)
                job_stop(j, KILL_GRACE_MS);
        }
        return;
    }
    w->stopping = true;
    /* Takes our interest away at the server, so that pulls still open get nothing more; what was on
     * its way comes. */
    if (natsSubscription_Drain(w->pull_sub) == NATS_OK)
        natsSubscription_WaitForDrainCompletion(w->pull_sub, DRAIN_MS);
    for (struct mail *m = w->backlog, *next; m; m = next) {
        next = m->next;
        give_back(w, m->msg);
        mail_free(m);
    }
    w->backlog = NULL;
    w->backlog_last = &w->backlog;
    take_mail(w);
    /* what still runs needs no place that could be given to others */
    reports_tick(&w->reports, 0, 0);
    log_info("stopping", "running=%d given_back=%" PRId64, w->running, w->given_back);
}

static void read_signals(struct work *w, int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo != SIGCHLD)
            begin_stop(w);
    }
    reap(w);
}

static void check_timers(struct work *w)
{
    int64_t now_ms = clock_now_ms();
    for (struct job *j = w->jobs; j; j = j->next) {
        if (j->kill_ms && j->kill_ms <= now_ms)
            job_kill(j);
        if (!j->revoked && j->progress_ms <= now_ms) {
            renew(w, j->msg);
            for (struct mail *m = w->backlog; m; m = m->next)
                renew(w, m->msg);
            j->progress_ms = now_ms + w->progress_ms;
        }
    }
    if (receipts_due_ms(&w->receipts) <= now_ms)
        receipts_repeat(&w->receipts, false);
    if (w->stopping)
        return;
    reports_tick(&w->reports, w->running, w->concurrency);
    while (w->backlog && w->running < w->concurrency) {
        struct mail *m = w->backlog;
        w->backlog = m->next;
        if (!w->backlog)
            w->backlog_last = &w->backlog;
        start(w, m->msg);
        m->msg = NULL;
        mail_free(m);
    }
    if (pulls_expire(&w->pulls))
        w->info_ms = now_ms;
    if (w->info_ms <= now_ms)
        ask_info(w);
    pulls_want(&w->pulls, w->backlog ? 0 : w->concurrency - w->running, (w->concurrency + 3) / 4);
}

static int wait_ms(const struct work *w)
{
    int64_t due_ms = receipts_due_ms(&w->receipts);
    if (!w->stopping && w->info_ms < due_ms)
        due_ms = w->info_ms;
    if (!w->stopping && reports_due_ms(&w->reports) < due_ms)
        due_ms = reports_due_ms(&w->reports);
    if (!w->stopping && w->pulls.asked == 0 && w->pulls.not_before_ms < due_ms &&
        w->running < w->concurrency)
        due_ms = w->pulls.not_before_ms;
    for (const struct job *j = w->jobs; j; j = j->next) {
        due_ms = !j->revoked && j->progress_ms < due_ms ? j->progress_ms : due_ms;
        due_ms = j->kill_ms && j->kill_ms < due_ms ? j->kill_ms : due_ms;
    }
    int64_t left_ms = due_ms - clock_now_ms();
    return left_ms < 1 ? 1 : left_ms > 1000 ? 1000 : (int)left_ms;
}

static int run(struct work *w, int signals)
{
    struct pollfd *fds = calloc(2 + 2 * (size_t)w->concurrency, sizeof(*fds));
    struct job **owners = calloc(2 + 2 * (size_t)w->concurrency, sizeof(*owners));
    if (!fds || !owners) {
        free(fds);
        free(owners);
        return say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
    }
    for (;;) {
        check_timers(w);
        if (w->stopping && w->running == 0) {
            if (!w->stop_by_ms)
                w->stop_by_ms = clock_now_ms() + STOP_RECEIPTS_MS;
            if (w->receipts.count == 0 || w->stop_by_ms <= clock_now_ms())
                break;
        }
        nfds_t n = 0;
        fds[n++] = (struct pollfd){.fd = signals, .events = POLLIN};
        fds[n++] = (struct pollfd){.fd = w->box.fd, .events = POLLIN};
        for (struct job *j = w->jobs; j; j = j->next) {
            owners[n] = j;
            if (j->in_fd >= 0)
                fds[n++] = (struct pollfd){.fd = j->in_fd, .events = POLLOUT};
            owners[n] = j;
            if (j->err_fd >= 0)
                fds[n++] = (struct pollfd){.fd = j->err_fd, .events = POLLIN};
        }
        if (poll(fds, n, wait_ms(w)) < 0 && errno != EINTR)
            break;
        for (nfds_t i = 2; i < n; i++) {
            if (fds[i].revents && fds[i].fd == owners[i]->in_fd)
                job_write(owners[i]);
            else if (fds[i].revents)
                job_read(owners[i]);
        }
        /* Signals first, and whatever poll saw: what has not started when a stop comes does not
         * start. */
        read_signals(w, signals);
        if (fds[1].revents)
            take_mail(w);
    }
    free(fds);
    free(owners);
    return CLI_OK;
}

static natsStatus subscribe(struct work *w)
{
    char subject[128];
    natsInbox *inbox = NULL;
    natsStatus s = natsInbox_Create(&inbox);
    if (s != NATS_OK)
        return s;
    snprintf(w->pull_inbox, sizeof(w->pull_inbox), "%s.p", inbox);
    snprintf(w->control_inbox, sizeof(w->control_inbox), "%s.c", inbox);
    natsInbox_Destroy(inbox);
    w->slots[0] = (struct mail_slot){&w->box, MAIL_PULL};
    w->slots[1] = (struct mail_slot){&w->box, MAIL_CONTROL};
    w->slots[2] = (struct mail_slot){&w->box, MAIL_REVOKE};
    snprintf(subject, sizeof(subject), "%s.*", w->pull_inbox);
    s = natsConnection_Subscribe(&w->pull_sub, w->nc, subject, mailbox_on_message, &w->slots[0]);
    snprintf(subject, sizeof(subject), "%s.>", w->control_inbox);
    if (s == NATS_OK) {
        s = natsConnection_Subscribe(&w->control_sub, w->nc, subject, mailbox_on_message,
                                     &w->slots[1]);
    }
    snprintf(subject, sizeof(subject), "ax.revoke.%s.*", w->pool);
    if (s == NATS_OK) {
        s = natsConnection_Subscribe(&w->revoke_sub, w->nc, subject, mailbox_on_message,
                                     &w->slots[2]);
    }
    w->slots[3] = (struct mail_slot){&w->box, MAIL_STREAM_DELETED};
    if (s == NATS_OK) {
        s = natsConnection_Subscribe(&w->deleted_sub, w->nc,
                                     "$JS.EVENT.ADVISORY.STREAM.DELETED." STREAM_WORK,
                                     mailbox_on_message, &w->slots[3]);
    }
    natsSubscription *subs[] = {w->pull_sub, w->control_sub, w->revoke_sub, w->deleted_sub};
    for (int i = 0; s == NATS_OK && i < 4; i++)
        s = natsSubscription_SetPendingLimits(subs[i], -1, -1);
    return s;
}

static void on_reconnected(void *arg)
{
    mailbox_put(arg, MAIL_RECONNECTED, NULL);
}

static int work(struct cli *c, struct work *w, int signals)
{
    struct problem p = {0};
    w->events = (struct wire_events){.reconnected = on_reconnected, .arg = &w->box};
    if (connect_open(&w->nc, &c->options, NULL, "ax work", &w->events, &p))
        return say(CLI_FAILED, "%s", p.text);
    ax_err e = pool_add(w->nc, w->pool, "{}", &p);
    int code = CLI_OK;
    if (e && e != AX_E_EXISTS)
        code = say_problem(&p);
    natsStatus s = code ? NATS_OK : subscribe(w);
    if (s != NATS_OK)
        code = say(CLI_FAILED, "subscribe: %s", natsStatus_GetText(s));
    if (!code) {
        w->pulls.nc = w->receipts.nc = w->nc;
        w->pulls.inbox = w->pull_inbox;
        w->receipts.inbox = w->control_inbox;
        snprintf(w->pulls.subject, sizeof(w->pulls.subject), "$JS.API.CONSUMER.MSG.NEXT.%s.%s",
                 STREAM_WORK, w->pool);
        char name[INSTANCE_MAX_CHARS + 1];
        instance_new(name);
        reports_init(&w->reports, w->nc, w->pool, name);
        log_info("working", "pool=%s concurrency=%d", w->pool, w->concurrency);
        code = run(w, signals);
        log_info("stopped",
                 "done=%" PRId64 " failed=%" PRId64 " terminated=%" PRId64 " given_back=%" PRId64,
                 w->done, w->failed, w->terminated, w->given_back);
        natsConnection_FlushTimeout(w->nc, 1000);
    }
    receipts_free(&w->receipts);
    natsConnection_Close(w->nc);
    natsSubscription *const subs[] = {w->pull_sub, w->control_sub, w->revoke_sub, w->deleted_sub};
    for (size_t i = 0; i < sizeof(subs) / sizeof(subs[0]); i++)
        natsSubscription_Destroy(subs[i]); /* nothing is delivered any more */
    return code;
}

int cmd_work(struct cli *c)
{
    struct work w = {.progress_ms = ACK_WAIT_DEFAULT_MS / 3};
    w.backlog_last = &w.backlog;
    int64_t concurrency = 1;
    const struct flag flags[] = {
        {"exec", FLAG_TEXT, &w.command, 0, 0, "CMD", "what to run, by /bin/sh"},
        {"concurrency", FLAG_INT, &concurrency, 1, 1024, "N", "how many at a time (default 1)"},
    };
    int code = args_parse(c, flags, 2, 1, 1);
    if (code >= 0)
        return code;
    w.pool = c->argv[0];
    w.concurrency = (int)concurrency;
    if (!name_is_valid(w.pool))
        return say(CLI_USAGE, "pool: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -", w.pool);
    if (!w.command)
        return say(CLI_USAGE, "--exec is missing: usage: ax work %s", c->command->args);

    /* Blocked before any thread exists, so that they come through the signalfd and nowhere else. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0 || !mailbox_init(&w.box))
        return say(CLI_FAILED, "signalfd, eventfd: %s", strerror(errno));
    code = work(c, &w, signals);
    close(signals);
    return code;
}
