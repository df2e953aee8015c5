/* The state of `ax work`, and what happens to its tasks: started, given back, ended. Everything but
 * the mailbox belongs to the loop's thread (worker_loop.h). */
#ifndef AX_CLI_WORK_WORKER_H
#define AX_CLI_WORK_WORKER_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "bus/wire.h"
#include "cli/work/acks.h"
#include "cli/work/job.h"
#include "cli/work/mailbox.h"
#include "cli/work/pulls.h"
#include "cli/work/reports.h"
#include "cli/work/starts.h"
#include "task/inbox.h"

enum {
    WORKER_SUB_PULLS,   /* tasks, and the statuses of pull requests */
    WORKER_SUB_CONTROL, /* answers of the JetStream API, confirmations of acks */
    WORKER_SUB_REVOKE,
    WORKER_SUBS
};
struct worker_subs {
    natsSubscription *list[WORKER_SUBS];
    struct mailbox_slot slots[WORKER_SUBS];
    char pulls_inbox[INBOX_MAX + 2], control_inbox[INBOX_MAX + 2];
};
/* The pool's consumer, as its INFO told. */
struct worker_watch {
    int64_t due_ms;     /* when to ask next (clock_now_ms) */
    int64_t created_ns; /* tells it from another of the same name; 0: not known */
    bool consumer_gone;
};
struct worker_tally {
    int64_t done, failed, terminated, given_back;
};
struct worker {
    struct wire_events events; /* of the connection, which borrows it */
    natsConnection *nc;
    const char *pool; /* borrowed */
    struct job_setup setup;
    struct guard guard;
    int concurrency;
    struct mailbox box;
    struct worker_subs subs;
    struct pulls pulls;
    struct acks acks;
    struct reports reports;
    struct starts starts;
    struct worker_watch watch;
    struct worker_tally tally;
    struct job *jobs; /* those that run */
    int running;
    /* Tasks that arrived without a free slot: their leases are renewed, and they start next. */
    struct mail *backlog;
    int64_t backlog_ms;  /* when the leases of the backlog are renewed next */
    int64_t progress_ms; /* how often a lease is renewed */
    int64_t drain_by_ms; /* stopping: until then for what is on its way; 0: not any more */
    int64_t stop_by_ms;  /* stopping: until then confirmations of acks are waited for */
    bool stopping;
};

/* Starts a command for the task; msg is taken. While none can be started it is given back. */
void worker_start(struct worker *w, natsMsg *msg);
/* Gives a task back that was not run, for another worker: no failure of its. msg: borrowed. */
void worker_give_back(struct worker *w, natsMsg *msg);
/* Renews the lease of a task that has not ended. msg: borrowed. */
void worker_renew(struct worker *w, natsMsg *msg);
/* The worker stops, and the command has to, too. */
void worker_tell(struct job *j);
/* The attempt is superseded: its command is stopped, and nothing is acknowledged. */
void worker_revoke(struct job *j);
/* Acknowledges the commands that have ended, and forgets them. */
void worker_reap(struct worker *w);
/* Frees what the backlog holds; give_back: gives each task back before. */
void worker_clear_backlog(struct worker *w, bool give_back);

#endif
