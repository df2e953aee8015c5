/* `ax work`: flags, the connection and its subscriptions; the work itself is worker_loop.c. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/io/outlet.h"
#include "base/log.h"
#include "bus/connect.h"
#include "bus/connection/recover.h"
#include "bus/provision/provision.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/find_server.h"
#include "cli/signals.h"
#include "cli/streams/pool.h"
#include "cli/work/worker.h"
#include "cli/work/worker_loop.h"
#include "task/peer/instance.h"
#include "task/peer/lease.h"

#define ACK_WAIT_DEFAULT_MS 30000
#define STDERR_WAIT_MS 1000 /* at the end, for whoever reads it */

const char cmd_work_detail[] =
    "Runs /bin/sh -c CMD for every task, body on stdin, with AX_TASK, AX_KEY, AX_ATTEMPT, "
    "AX_FENCE, AX_PRIORITY and\n"
    "AX_POOL in the environment, but without the variables of the connection. Exit code 0: ack. "
    "65: dead letter at once, the last line of "
    "stderr is the reason.\n"
    "75, any other, or killed by a signal: nak, the task is tried again after its backoff.\n"
    "While the command runs, its lease is renewed. When the attempt is superseded, the command is "
    "stopped.\n"
    "On SIGTERM or SIGINT: nothing new is started, what runs is finished, what came and did not "
    "start is given back.\n"
    "A second signal stops the commands, too, and gives their tasks back. None of that is a "
    "failure of a task's.\n"
    "The pool is added when it is not there.";

static natsStatus subscribe_one(struct worker *w, int which, enum mail_kind kind,
                                const char *subject)
{
    struct worker_subs *s = &w->subs;
    s->slots[which] = (struct mailbox_slot){&w->box, kind};
    natsStatus status = natsConnection_Subscribe(&s->list[which], w->nc, subject,
                                                 mailbox_on_message, &s->slots[which]);
    return status == NATS_OK ? natsSubscription_SetPendingLimits(s->list[which], -1, -1) : status;
}

static natsStatus subscribe(struct worker *w)
{
    char inbox[INBOX_MAX], pulls[INBOX_MAX + 4], control[INBOX_MAX + 4], revoke[96];
    inbox_new(inbox);
    snprintf(w->subs.pulls_inbox, sizeof(w->subs.pulls_inbox), "%s.p", inbox);
    snprintf(w->subs.control_inbox, sizeof(w->subs.control_inbox), "%s.c", inbox);
    snprintf(pulls, sizeof(pulls), "%s.*", w->subs.pulls_inbox);
    snprintf(control, sizeof(control), "%s.>", w->subs.control_inbox);
    snprintf(revoke, sizeof(revoke), "ax.revoke.%s.*", w->pool);
    natsStatus s = subscribe_one(w, WORKER_SUB_PULLS, MAIL_PULL, pulls);
    if (s == NATS_OK)
        s = subscribe_one(w, WORKER_SUB_CONTROL, MAIL_CONTROL, control);
    if (s == NATS_OK)
        s = subscribe_one(w, WORKER_SUB_REVOKE, MAIL_REVOKE, revoke);
    return s;
}

static void on_reconnected(void *arg)
{
    mailbox_put(arg, MAIL_RECONNECTED, NULL);
}

/* AX_E_NOT_FOUND: the pool has no consumer. Asking for it is all that a worker's rights allow. */
static ax_err look_for_consumer(struct worker *w, struct problem *p)
{
    char what[128];
    json_t *reply = NULL;
    int err_code = 0;
    snprintf(what, sizeof(what), "CONSUMER.INFO.%s.%s", STREAM_WORK, w->pool);
    ax_err err = provision_json(w->nc, what, NULL, &reply, &err_code, p);
    json_decref(reply);
    if (err_code == JSERR_CONSUMER_NOT_FOUND || err_code == JSERR_STREAM_NOT_FOUND)
        return AX_E_NOT_FOUND;
    if (err == AX_E_TIMEOUT || err == AX_E_NO_RESPONDERS || err == AX_E_AUTH) {
        return problem_set(p, err,
                           "pool %s: no answer on its consumer ($JS.API.%s: %s); may this user "
                           "work for the pool, and is the server's JetStream on?",
                           w->pool, what, ax_err_text(err));
    }
    return err;
}

/* Adds the pool where it does not exist. Who may not do that waits until somebody else has. */
static ax_err find_pool(struct worker *w, struct problem *p)
{
    ax_err err = look_for_consumer(w, p);
    if (err != AX_E_NOT_FOUND)
        return err;
    err = pool_add(w->nc, w->pool, "{}", p);
    if (err == AX_E_TIMEOUT || err == AX_E_NO_RESPONDERS || err == AX_E_AUTH) {
        log_warn("the pool does not exist, and this user may not add it; it comes with its first "
                 "task",
                 "pool=%s", w->pool);
        return AX_OK;
    }
    return err == AX_E_EXISTS ? AX_OK : err;
}

static int work(struct worker *w, int signals)
{
    struct problem p = {0};
    if (find_pool(w, &p) != AX_OK)
        return say_problem(&p);
    natsStatus s = subscribe(w);
    if (s != NATS_OK)
        return say(CLI_FAILED, "subscribe: %s", natsStatus_GetText(s));
    w->pulls.nc = w->acks.nc = w->nc;
    w->pulls.inbox = w->subs.pulls_inbox;
    w->acks.inbox = w->subs.control_inbox;
    snprintf(w->pulls.subject, sizeof(w->pulls.subject), "$JS.API.CONSUMER.MSG.NEXT.%s.%s",
             STREAM_WORK, w->pool);
    char name[INSTANCE_MAX_CHARS + 1];
    instance_new(name);
    reports_init(&w->reports, w->nc, w->pool, name);
    log_info("working", "pool=%s concurrency=%d", w->pool, w->concurrency);
    int code = worker_loop_run(w, signals);
    const struct worker_tally *t = &w->tally;
    log_info("stopped",
             "done=%" PRId64 " failed=%" PRId64 " terminated=%" PRId64 " given_back=%" PRId64
             " lines_dropped=%" PRIu64,
             t->done, t->failed, t->terminated, t->given_back, outlet_dropped());
    if (w->acks.count > 0) {
        log_warn("the server has not confirmed all acks: their tasks may run again", "acks=%d",
                 w->acks.count);
        code = CLI_FAILED;
    }
    natsConnection_FlushTimeout(w->nc, 1000);
    return code;
}

static int connect_and_work(struct cli *c, struct worker *w, int signals)
{
    struct problem p = {0};
    w->events = (struct wire_events){.reconnected = on_reconnected, .arg = &w->box};
    if (find_server(&c->options, &p) != AX_OK ||
        connect_open(&w->nc, &c->options, NULL, "ax work", &w->events, &p) != AX_OK)
        return say(CLI_FAILED, "%s", p.text);
    int code = work(w, signals);
    acks_free(&w->acks);
    recover_end();
    natsConnection_Close(w->nc);
    for (int i = 0; i < WORKER_SUBS; i++)
        natsSubscription_Destroy(w->subs.list[i]); /* nothing is delivered any more */
    return code;
}

/* Before any thread exists: it keeps a copy of the memory. */
static bool start_guard(struct worker *w)
{
    w->setup.guard = &w->guard;
    /* What commands leave behind becomes our child, as it does anyway for process 1. So its end is
     * told, and leaves no zombie where process 1 is one that does not reap. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return guard_init(&w->guard, w->concurrency) && guard_ensure(&w->guard);
}

int cmd_work(struct cli *c)
{
    struct worker w = {.progress_ms = ACK_WAIT_DEFAULT_MS / 3};
    int64_t concurrency = 1;
    const struct flag flags[] = {
        {"exec", FLAG_TEXT, &w.setup.command, 0, 0, "CMD", "what to run, by /bin/sh"},
        {"concurrency", FLAG_INT, &concurrency, 1, 1024, "N", "how many at a time (default 1)"},
        {"pass-connection", FLAG_BOOL, &w.setup.pass_connection, 0, 0, NULL,
         "leave the variables of the connection (NATS_URL …) to the command"},
    };
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 1, 1);
    if (code >= 0)
        return code;
    w.pool = c->argv[0];
    w.concurrency = (int)concurrency;
    if (!name_is_valid(w.pool))
        return say(CLI_USAGE, "pool: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -", w.pool);
    if (!w.setup.command)
        return say(CLI_USAGE, "--exec is missing: usage: ax work %s", c->command->args);

    /* Else the command, which has our user id, could read our environment in /proc. */
    if (!w.setup.pass_connection)
        prctl(PR_SET_DUMPABLE, 0);
    int signals = signals_open((const int[]){SIGINT, SIGTERM, SIGCHLD}, 3);
    if (signals < 0 || !mailbox_init(&w.box))
        return say(CLI_FAILED, "signalfd, eventfd: %s", strerror(errno));
    if (!start_guard(&w))
        return say(CLI_FAILED, "a process that guards the commands: %s", strerror(errno));
    if (!outlet_start())
        return say(CLI_FAILED, "a thread that writes to stderr: %s", strerror(errno));
    code = connect_and_work(c, &w, signals);
    outlet_stop(STDERR_WAIT_MS);
    guard_free(&w.guard);
    close(signals);
    return code;
}
