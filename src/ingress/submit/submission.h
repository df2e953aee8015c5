/* One submission, from its message to its answer. submission_moves.h says what is done when; this
 * is what does it. Each question to JetStream is asynchronous, and a submission has one at a time
 * (submission_ask.h). Lock of the loop held in every call. */
#ifndef AX_INGRESS_SUBMIT_SUBMISSION_H
#define AX_INGRESS_SUBMIT_SUBMISSION_H

#include <nats/nats.h>
#include <stddef.h>
#include <stdint.h>

#include "bus/pipeline_get.h"
#include "ingress/counters.h"
#include "ingress/door/account.h"
#include "ingress/ingress.h"
#include "ingress/queue/shares.h"
#include "ingress/submit/answer.h"
#include "ingress/submit/submission_moves.h"
#include "task/task.h"

struct batch;
struct pool_held;
struct queue;
struct record;
struct submission;

/* Where it came from, and who is told. */
struct submission_source {
    natsMsg *msg;         /* NULL: the task belongs to a batch (owned) */
    struct charge charge; /* for msg; zeroed when the task belongs to a batch */
    const char *reply;    /* borrowed from msg or batch; NULL: nobody to tell */
    struct batch *batch;
    size_t index;     /* in the batch */
    void *unpacked;   /* protobuf that the task borrows from (owned) */
    int64_t since_ns; /* monotonic */
    bool answered;
};

/* The question that is under way. */
struct submission_question {
    bool asked;
    union {
        void (*found)(struct submission *s, ax_err err, const struct stored_msg *found);
        void (*record)(struct submission *s, ax_err err, const struct record *r, uint64_t seq);
        void (*answer)(struct submission *s, const struct answer *a);
    } then;
};

/* What an answer to the producer says beyond the action's name. */
struct submission_particulars {
    uint64_t seq; /* of what was stored or found */
    /* where it was stored, for ACCEPT_STORED; stream NULL: in its queue */
    const char *stored_in;
    uint64_t stored_seq;
    /* event REFUSED: what the producer is told, and what is counted; for the event only */
    const struct verdict *refusal;
    enum refusal why;
    enum jserr_full full_of; /* FULL */
    bool soon;               /* FULL: room is made for its group */
    struct over_quota over;  /* OVER_SHARE, OVER_POOL_SHARE */
};

/* Recurring tasks only. */
struct submission_schedule {
    uint64_t replaces; /* sequence of the schedule that is replaced; 0: none */
    uint64_t older;    /* of the one under another priority that is being removed; 0: none */
    bool paused;       /* the one that is replaced was */
};

struct submission {
    struct submission *prev, *next;           /* submits.c: in flight, oldest first */
    struct submission *wait_prev, *wait_next; /* submits.c: waiting, or free */
    struct ingress *ing;
    struct queue *queue;      /* of its priority, once it was found valid */
    struct pool_held *held;   /* its place in the queue while it is on its way there; NULL: none */
    struct later_place later; /* the same in AX_LATER */
    struct submission_source source;
    struct task task;
    struct submission_facts facts;
    struct submission_question question;
    struct submission_particulars answer;
    struct submission_schedule schedule;
    int64_t due_ns;         /* AX time; 0: now; INT64_MAX: recurring */
    uint32_t pool_removals; /* pools_removals when its pool was looked up */
    bool claims_pool;       /* its pool has no entry yet: pools_claim */
    char *reason;           /* dead letter: why (owned) */
};

/* A blank one, whose source and task the caller fills in; then one of the three below. NULL: no
 * memory. */
struct submission *submission_new(struct ingress *ing);
/* Its task was read. */
void submission_start(struct submission *s);
/* Its task could not be read; the subject may still name the pool. */
void submission_start_unread(struct submission *s, const char *subject, const struct problem *p);

/* event came: makes the move for it. s may have ended when this returns. */
void submission_event(struct submission *s, enum submission_event event);
/* The event REFUSED: v is what its producer is told, why what is counted. */
void submission_refuse(struct submission *s, enum refusal why, const struct verdict *v);
/* The same with what p says: 400, or 503 when there was no memory. */
void submission_refuse_for(struct submission *s, enum refusal why, const struct problem *p);

/* For submission_ask.c: frees one that has ended. */
void submission_free(struct submission *s);

#endif
