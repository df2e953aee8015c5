/* A run: one queue message, that is one attempt of a task, from the moment the dispatcher holds its lease to the moment
 * it is ended (docs/design.md). The steps of its life, and the rules that keep it safe, are in hand_off.c, ending.c and
 * look.c; each rule of docs/design.md is named where it is kept. Loop lock. */
#ifndef AX_DISPATCH_RUN_H
#define AX_DISPATCH_RUN_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "core/loop.h"
#include "core/task.h"
#include "dispatch/demand.h"

struct pool;
struct queue;

enum run_state {
    RUN_STAGED,   /* held, waiting for demand, a token and its turn */
    RUN_CHECKING, /* the filter said maybe: AX_DONE is being read */
    RUN_HANDING,  /* published to AX_WORK, no word yet */
    RUN_RUNNING,  /* in AX_WORK, waiting for the worker's receipt */
    RUN_LOOKING,  /* the lease came back, or a repeat was answered: AX_WORK is being looked at */
    RUN_ENDING,   /* the next state is being written (record, retry, dead letter), then the queue message acked */
    RUN_LOST,     /* AX_WORK was recreated: waits for its queue message to come again */
};

enum run_end { END_DONE, END_FAILED, END_TIMED_OUT, END_BURIED, END_CANCELLED };

struct run {
    struct pool *pool;
    struct queue *queue;
    enum run_state state;
    uint64_t queue_seq;    /* the queue message's identity, with queue->stream and stored_ns */
    int64_t stored_ns;
    char *lease;           /* newest ack subject of the queue message; owned */
    natsMsg *msg;          /* the queue message while it may still have to be handed off; owned, NULL afterwards */
    struct task task;      /* while msg is there; id, priority, pool, attempt, timeouts always */
    uint64_t work_seq;     /* the hand-off's sequence = fencing token; 0: none yet */
    int64_t epoch_ns;      /* creation time of the AX_WORK it was handed off to */
    int64_t active_ns;     /* monotonic: hand-off, adoption or the worker's last in-progress */
    int64_t lease_ns;      /* monotonic: when the lease was last renewed */
    struct pull *pull;     /* whom it was handed to; NULL: adopted, or not handed off */
    bool token;            /* holds a token of the bucket that must be given back if it does not start */
    bool counted;          /* counts as in flight in pool->inflight */
    /* how it ends, kept for the steps of ending */
    enum run_end end;
    int64_t delay_ms;      /* before the next attempt; -1: the backoff decides */
    char reason[256];
    void (*cancelled)(void *arg, bool gone, bool done);
    void *cancel_arg;
    bool done_late;        /* END_CANCELLED: the worker's ack was heard meanwhile */
    struct loop_timer limit; /* Ax-Timeout: end of the whole run, in-progress or not */
    struct run *prev, *next; /* queue->staged */
    UT_hash_handle by_seq;   /* queue->runs, by queue_seq */
    UT_hash_handle by_work;  /* pool->by_work, by work_seq */
    UT_hash_handle by_id;    /* pool->by_id, by task.id */
    bool in_work, in_id;
};

/* A new run for a queue message (taken). NULL: out of memory, msg destroyed, the lease will lapse.
 * r->reason is set when the message is no task: bury it, else stage it. */
struct run *run_new(struct queue *q, natsMsg *msg, uint64_t queue_seq, int64_t stored_ns);
/* A run found in AX_WORK at start (rule 8). lease: copied. */
struct run *run_adopt(struct queue *q, const char *id, const char *lease, uint64_t queue_seq, int64_t stored_ns,
                      uint64_t work_seq, uint32_t attempt, uint32_t timeouts);
/* Forgets the run and touches nothing outside. */
void run_free(struct run *r);
/* The queue message was delivered again: newest lease; its content too where it is needed. msg taken. */
void run_set_lease(struct run *r, const char *ack_subject);
/* Lets go of the content once the hand-off is stored. */
void run_drop_content(struct run *r);
/* The run has a hand-off with this sequence. */
void run_set_work(struct run *r, uint64_t work_seq);
/* No longer occupies a place among the pool's un-acked tasks. */
void run_uncount(struct run *r);
/* Its AX_WORK was recreated: asks for the queue message again, which will be handed off anew. */
void run_lose(struct run *r);
/* "<id>.<stream>.<seq>.<stored ns><suffix>": the queue message's identity as a Nats-Msg-Id. out[256]. */
void run_identity(const struct run *r, const char *suffix, char *out);

/* hand_off.c: checks the filter, reads AX_DONE on a maybe, publishes to AX_WORK. The run is unlinked from the staged
 * list and its demand and token are taken already. */
void run_hand_off(struct run *r);

/* ending.c */
void run_finish(struct run *r);                        /* rule "finished": record, then ack */
/* Retry after delay_ms (-1: backoff), or dead letter when there were enough. */
void run_fail(struct run *r, const char *why, int64_t delay_ms);
void run_time_out(struct run *r);                      /* silence: the same, with a limit of its own */
void run_bury(struct run *r, const char *why);         /* dead letter at once */
void run_drop(struct run *r);                          /* done before: ack the queue message, forget */
/* The attempt has run since `ran_ms` ago: starts the clock of its Ax-Timeout, if it has one. */
void run_limit(struct run *r, int64_t ran_ms);
/* Ends a staged or running one for good, without a next attempt: revoke, ack the queue message, remove the hand-off.
 * ended: called once when the queue message is gone (true), or when it could not be (false: the lease decides). A worker
 * that acks meanwhile is recorded as done: *done tells. */
void run_cancel(struct run *r, void (*ended)(void *arg, bool gone, bool done), void *arg);

/* look.c */
void run_look(struct run *r);     /* rules 3 and 7 */
void run_renew(struct run *r);    /* in-progress on the queue message */

#endif
