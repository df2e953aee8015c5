/* A run: one queue message, that is one attempt of a task, from the moment the dispatcher holds its
 * lease to the moment it is ended (docs/design.md). The steps of its life, and the rules that keep
 * it safe, are in hand_off.c, ending.c and look.c; each rule of docs/design.md is named where it is
 * kept. Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_ATTEMPT_H
#define AX_DISPATCH_ATTEMPT_ATTEMPT_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "bus/loop.h"
#include "bus/pipeline.h"
#include "dispatch/pool/demand.h"
#include "task/task.h"

struct dispatch;
struct group;
struct group_queue;
struct order_slot;
struct pool;
struct queue;

enum attempt_state {
    ATTEMPT_STAGED,    /* held, waiting for demand, a token and its turn */
    ATTEMPT_CHECKING,  /* the filter said maybe: AX_DONE is being read */
    ATTEMPT_HANDING,   /* published to AX_WORK, no word yet */
    ATTEMPT_RUNNING,   /* in AX_WORK, waiting for the worker's receipt */
    ATTEMPT_VERIFYING, /* the lease came back, or a repeat was answered: AX_WORK is being looked at
                        */
    /* the next state is being written (record, retry, dead letter), then the queue message acked */
    ATTEMPT_ENDING,
    ATTEMPT_LOST, /* AX_WORK was recreated: waits for its queue message to come again */
};

enum attempt_end { END_DONE, END_FAILED, END_TIMED_OUT, END_BURIED, END_CANCELLED };

struct attempt {
    struct pool *pool;
    struct queue *queue;
    enum attempt_state state;
    uint64_t queue_seq; /* the queue message's identity, with queue->stream and stored_ns */
    int64_t stored_ns;
    char *lease; /* newest ack subject of the queue message; owned */
    /* the queue message while it may still have to be handed off; owned, NULL afterwards, and while
     * it waits when there are too many to keep them all (queue_stage) */
    natsMsg *msg;
    size_t bytes;       /* of memory that msg takes, about */
    struct task task;   /* while msg is there; id, priority, pool, attempt, timeouts always */
    uint64_t work_seq;  /* the hand-off's sequence = fencing token; 0: none yet */
    int64_t epoch_ns;   /* creation time of the AX_WORK it was handed off to */
    int64_t handed_ns;  /* monotonic: hand-off, as far as it is known; 0: it is not */
    int64_t heard_ns;   /* monotonic: the worker's last in-progress; 0: none was heard */
    int64_t silence_ns; /* the longest time so far without a word from it */
    int64_t active_ns;  /* monotonic: hand-off, adoption or the worker's last in-progress */
    int64_t lease_ns;   /* monotonic: when the lease was last renewed */
    /* monotonic: when it was last looked after without its lease having come back */
    int64_t looked_ns;
    struct pull *pull; /* whom it was handed to; NULL: adopted, or not handed off */
    /* holds a token of the bucket that must be given back if it does not start */
    bool token;
    int64_t token_ns;    /* monotonic: when that was taken */
    bool counted;        /* counts as in flight in pool->inflight */
    struct group *group; /* NULL: it names none */
    bool group_counted;  /* counts as running in group->running */
    bool group_token;    /* the same as token, of the group's bucket */
    struct group_queue
        *group_queue; /* staged: where it waits for its turn, by line_prev, group_queue_next */
    struct attempt *group_prev, *group_next;
    struct order_slot *slot; /* of an ordered task: in the order of its group */
    bool released;           /* it has had its turn there */
    bool next_attempt;       /* how it ended: a retry was written */
    /* how it ends, kept for the steps of ending */
    enum attempt_end end;
    bool redelivered; /* delivered before: another dispatcher may have ended it */
    /* `end` holds: a step of it got no usable answer and is to be repeated, not judged anew */
    bool decided;
    int64_t delay_ms; /* before the next attempt; -1: the backoff decides */
    char reason[256];
    void (*cancelled)(void *arg, bool gone, bool done);
    void *cancel_arg;
    bool done_late;              /* END_CANCELLED: the worker's ack was heard meanwhile */
    struct loop_timer limit;     /* Ax-Timeout: end of the whole run, in-progress or not */
    struct attempt *prev, *next; /* queue->staged */
    UT_hash_handle by_seq;       /* queue->attempts, by queue_seq */
    UT_hash_handle by_work;      /* pool->by_work, by work_seq */
    UT_hash_handle by_id;        /* pool->by_id, by task.id */
    bool in_work, in_id;
    /* the pool is led by another: whatever is answered, nothing follows */
    bool abandoned;
};

/* A new run for a queue message (taken). NULL: out of memory, msg destroyed, the lease will lapse.
 * r->reason is set when the message is no task: bury it, else stage it. */
struct attempt *attempt_new(struct queue *q, natsMsg *msg, uint64_t queue_seq, int64_t stored_ns);
/* A run found in AX_WORK at start (rule 8). lease, group (NULL: none): copied. */
struct attempt *attempt_adopt(struct queue *q, const char *id, const char *lease,
                              uint64_t queue_seq, int64_t stored_ns, uint64_t work_seq,
                              uint32_t attempt, uint32_t timeouts, const char *group, bool ordered);
/* Forgets the run and touches nothing outside. */
void attempt_free(struct attempt *r);
/* Somebody else has ended it, how we do not know: forgets it. */
void attempt_vanished(struct attempt *r);
/* An answer is on its way that will call back with this run. */
bool attempt_awaits_answer(const struct attempt *r);
/* The pool's lease is gone: forgets the run and touches nothing outside, now or, if an answer is
 * awaited, with that. */
void attempt_abandon(struct attempt *r);
/* First thing in every callback: true: the run was abandoned and is gone now. */
bool attempt_is_gone(struct attempt *r);
/* Hand-offs (hand_off.c), retries and dead letters (ending.c) of abandoned runs that have no answer
 * yet are not sent again. */
void hand_off_give_up(struct dispatch *d);
void ending_give_up(struct dispatch *d);
bool attempt_is_abandoned(const void *run);
/* The queue message was delivered again: newest lease; its content too where it is needed. msg
 * taken. */
void attempt_set_lease(struct attempt *r, const char *ack_subject);
/* Lets go of the content once the hand-off is stored, or to be read again when it is its turn. */
void attempt_drop_content(struct attempt *r);
/* The run has a hand-off with this sequence. */
void attempt_set_work(struct attempt *r, uint64_t work_seq);
/* Its token is used, or given back: it waits for no answer any more. */
void attempt_use_token(struct attempt *r);
/* No longer occupies a place among the pool's un-acked tasks. */
void attempt_uncount(struct attempt *r);
/* Its AX_WORK was recreated: asks for the queue message again, which will be handed off anew. */
void attempt_lose(struct attempt *r);
/* "<id>.<stream>.<seq>.<stored ns><suffix>": the queue message's identity as a Nats-Msg-Id.
 * out[256]. */
void attempt_identity(const struct attempt *r, const char *suffix, char *out);

/* hand_off.c: checks the filter, reads AX_DONE on a maybe, publishes to AX_WORK. The run is
 * unlinked from the staged list and its demand and token are taken already. */
void hand_off_start(struct attempt *r);

/* ending.c */
void ending_finish(struct attempt *r); /* rule "finished": record, then ack */
/* The retry of an attempt that was acked late (rule 5), while the record of that may not be stored
 * yet: finished as it. */
void ending_finish_as(struct attempt *r, uint32_t attempt, uint64_t work_seq);
void ending_repeat(struct attempt *r); /* repeats the steps of the end that was decided */
void ending_was_buried(
    struct attempt *r); /* its dead letter is there: ack the queue message, forget */
/* found (NULL: none) is the dead letter of this very attempt. */
bool ending_is_dead_letter(const struct attempt *r, const struct stored_msg *found);
/* Retry after delay_ms (-1: backoff), or dead letter when there were enough. */
void ending_fail(struct attempt *r, const char *why, int64_t delay_ms);
void ending_time_out(struct attempt *r); /* silence: the same, with a limit of its own */
void ending_bury(struct attempt *r, const char *why); /* dead letter at once */
void ending_drop(struct attempt *r); /* done before: ack the queue message, forget */
/* The attempt has run since `ran_ms` ago: starts the clock of its Ax-Timeout, if it has one. */
void ending_limit(struct attempt *r, int64_t ran_ms);
/* Ends a staged or running one for good, without a next attempt: revoke, ack the queue message,
 * remove the hand-off. ended: called once when the queue message is gone (true), or when it could
 * not be (false: the lease decides). A worker that acks meanwhile is recorded as done: *done
 * tells. */
void ending_cancel(struct attempt *r, void (*ended)(void *arg, bool gone, bool done), void *arg);

/* ax.revoke.<pool>.<id>: tells a worker that listens that attempts with a token below `fence` are
 * over. */
void ending_revoke(const struct attempt *r, uint64_t fence);

/* look.c */
void verify_start(struct attempt *r); /* rules 3 and 7 */
/* Its lease has lapsed and did not come back: the queue message may be gone (the answer to its ack
 * was lost). Until the run is forgotten, no other message of its id is started. */
void verify_lease(struct attempt *r);
void attempt_renew(struct attempt *r); /* in-progress on the queue message */

#endif
