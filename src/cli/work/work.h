/* Parts of `ax work`: messages handed from nats.c's thread to the one loop, commands as child
 * processes, receipts that are repeated until the server confirms them, pull requests. All but the
 * mailbox belong to the loop's thread. */
#ifndef AX_CLI_WORK_WORK_H
#define AX_CLI_WORK_WORK_H

#include <nats/nats.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "task/names.h"
#include "task/peer/report.h"

/* ---- mailbox: what came, in order; fd is readable when there is something */

enum mail_kind { MAIL_PULL, MAIL_CONTROL, MAIL_REVOKE, MAIL_STREAM_DELETED, MAIL_RECONNECTED };
struct mail {
    struct mail *next;
    enum mail_kind kind;
    natsMsg *msg; /* the taker destroys it; NULL for MAIL_RECONNECTED */
};
struct mailbox {
    pthread_mutex_t lock;
    struct mail *first, **last;
    int fd;
};
struct mail_slot { /* closure of a subscription */
    struct mailbox *box;
    enum mail_kind kind;
};
bool mailbox_init(struct mailbox *box);
void mailbox_put(struct mailbox *box, enum mail_kind kind, natsMsg *msg);
/* nats.c callback; closure: a struct mail_slot. */
void mailbox_on_message(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *closure);
/* All that is there, oldest first; NULL: nothing. Free each with mail_free. */
struct mail *mailbox_take(struct mailbox *box);
void mail_free(struct mail *m);

/* ---- job: one attempt, run as a command */

#define JOB_LINE_MAX 200
struct job {
    struct job *next;
    natsMsg *msg;
    char id[TASK_ID_CHARS + 1];
    uint64_t fence;
    pid_t pid;
    int in_fd, err_fd; /* -1: closed */
    int written;
    /* of stderr: being read, last one with something in it */
    char line[JOB_LINE_MAX], last_line[JOB_LINE_MAX];
    int line_chars;
    int64_t progress_ms; /* when the next in-progress is due */
    int64_t kill_ms;     /* 0, or when SIGKILL follows */
    int64_t started_ms;
    bool revoked; /* superseded: no receipt */
};
/* Starts `/bin/sh -c command` with msg's body on stdin. msg is taken when a job is returned; NULL:
 * could not start. */
struct job *job_start(natsMsg *msg, const char *command);
/* The command's pipes are ready: writes the body, passes stderr on. */
void job_write(struct job *j);
void job_read(struct job *j);
/* SIGTERM to the command's process group, SIGKILL after grace_ms. */
void job_stop(struct job *j, int64_t grace_ms);
void job_kill(struct job *j);
/* True when the command has ended; *status as waitpid gives it. */
bool job_ended(struct job *j, int *status);
void job_free(struct job *j);
/* The receipt for an ended command: 0 ack, 65 term with a reason, all else nak. */
const char *job_receipt(const struct job *j, int status, char *buf, size_t cap);

/* ---- receipts: acks sent as requests until the server has confirmed them */

struct receipt {
    struct receipt *next;
    char *subject;
    char payload[300];
    uint64_t number;
    int64_t due_ms, give_up_ms;
};
struct receipts {
    natsConnection *nc;
    const char *inbox;
    struct receipt *first;
    uint64_t numbers;
    int count;
};
void receipts_send(struct receipts *r, const char *ack_subject, const char *payload);
/* A confirmation came on <inbox>.ack.<number>. */
void receipts_confirmed(struct receipts *r, uint64_t number);
/* Repeats what is due; all: everything at once (after a reconnect). */
void receipts_repeat(struct receipts *r, bool all);
/* When to call receipts_repeat next; INT64_MAX: nothing pending. */
int64_t receipts_due_ms(const struct receipts *r);
void receipts_free(struct receipts *r);

/* ---- reports: what this worker tells its dispatcher on ax.worker.<pool>.<worker> */

#define REPORT_TIMES_MAX 256
struct reports {
    natsConnection *nc;
    char subject[SUBJECT_MAX_CHARS];
    uint32_t errors;
    /* of tasks finished since the last report: the last so many */
    int64_t times_ms[REPORT_TIMES_MAX];
    uint64_t finished;
    int64_t due_ms, sent_ms;
    bool was_idle;
};
/* worker: its name, unique. */
void reports_init(struct reports *r, natsConnection *nc, const char *pool, const char *worker);
/* A command ended; ok: with an ack. */
void reports_ended(struct reports *r, bool ok, int64_t took_ms);
/* Sends one when it is due: every 5 s, and soon after it became idle or busy. capacity 0: a last
 * one, at once. */
void reports_tick(struct reports *r, int busy, int capacity);
/* When to call reports_tick next. */
int64_t reports_due_ms(const struct reports *r);
/* How loaded this machine is, 0 to 1: the part of the last 10 s in which some process waited for
 * processor, memory or disk (the kernel's pressure stall information); where the kernel does not
 * tell, processes that want to run per processor, two being 1. */
double reports_machine_load(void);

/* ---- pulls: as many messages asked for as there are free slots */

#define PULLS_MAX 64
struct pulls {
    natsConnection *nc;
    const char *inbox;
    char subject[128];
    int asked;
    int open_count; /* requests, oldest first */
    struct {
        uint64_t number;
        int left;
        int64_t due_ms;
    } open[PULLS_MAX];
    uint64_t numbers;
    int64_t not_before_ms;
    bool missing; /* the consumer is not there: no pull until it is */
};
/* Asks for as many as free allows; step: not for fewer, so that requests stay few. */
void pulls_want(struct pulls *p, int free, int step);
/* A task came. */
void pulls_got(struct pulls *p);
/* A status message came on <inbox>.<number>. */
void pulls_status(struct pulls *p, uint64_t number, natsMsg *msg);
/* Forgets requests the server has let lapse without a word. True: some had to be forgotten (is the
 * consumer there?). */
bool pulls_expire(struct pulls *p);
/* The server forgot them all. */
void pulls_reset(struct pulls *p);

#endif
