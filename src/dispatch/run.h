/* A run: one queue message, that is one attempt of a task, from the moment the dispatcher holds its
 * lease to the moment it is ended (docs/design.md). The steps of its life, and the rules that keep
 * it safe, are in hand_off.c, ending.c and look.c; each rule of docs/design.md is named where it is
 * kept. Loop lock. */
#ifndef AX_DISPATCH_RUN_H
#define AX_DISPATCH_RUN_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/hash.h"
#include "core/loop.h"
#include "core/pipeline.h"
#include "core/task.h"
#include "dispatch/demand.h"

struct dispatch;
struct group;
struct line;
struct place;
struct pool;
struct queue;

enum run_state {
    RUN_STAGED,   /* held, waiting for demand, a token and its turn */
    RUN_CHECKING, /* the filter said maybe: AX_DONE is being read */
    RUN_HANDING,  /* published to AX_WORK, no word yet */
    RUN_RUNNING,  /* in AX_WORK, waiting for the worker's receipt */
    RUN_LOOKING,  /* the lease came back, or a repeat was answered: AX_WORK is being looked at */
    /* the next state is being written (record, retry, dead letter), then the queue message acked */
    RUN_ENDING,
    RUN_LOST, /* AX_WORK was recreated: waits for its queue message to come again */
};

enum run_end { END_DONE, END_FAILED, END_TIMED_OUT, END_BURIED, END_CANCELLED };

struct run {
    struct pool *pool;
    struct queue *queue;
    enum run_state state;
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
    struct line *line;   /* staged: where it waits for its turn, by line_prev, line_next */
    struct run *line_prev, *line_next;
    struct place *place; /* of an ordered task: in the order of its group */
    bool released;       /* it has had its turn there */
    bool next_attempt;   /* how it ended: a retry was written */
    /* how it ends, kept for the steps of ending */
    enum run_end end;
    bool again; /* delivered before: another dispatcher may have ended it */
    /* `end` holds: a step of it got no usable answer and is to be repeated, not judged anew */
    bool decided;
    int64_t delay_ms; /* before the next attempt; -1: the backoff decides */
    char reason[256];
    void (*cancelled)(void *arg, bool gone, bool done);
    void *cancel_arg;
    bool done_late;          /* END_CANCELLED: the worker's ack was heard meanwhile */
    struct loop_timer limit; /* Ax-Timeout: end of the whole run, in-progress or not */
    struct run *prev, *next; /* queue->staged */
    UT_hash_handle by_seq;   /* queue->runs, by queue_seq */
    UT_hash_handle by_work;  /* pool->by_work, by work_seq */
    UT_hash_handle by_id;    /* pool->by_id, by task.id */
    bool in_work, in_id;
    /* the pool is led by another: whatever is answered, nothing follows */
    bool abandoned;
};

/* A new run for a queue message (taken). NULL: out of memory, msg destroyed, the lease will lapse.
 * r->reason is set when the message is no task: bury it, else stage it. */
struct run *run_new(struct queue *q, natsMsg *msg, uint64_t queue_seq, int64_t stored_ns);
/* A run found in AX_WORK at start (rule 8). lease, group (NULL: none): copied. */
struct run *run_adopt(struct queue *q, const char *id, const char *lease, uint64_t queue_seq,
                      int64_t stored_ns, uint64_t work_seq, uint32_t attempt, uint32_t timeouts,
                      const char *group, bool ordered);
/* Forgets the run and touches nothing outside. */
void run_free(struct run *r);
/* Somebody else has ended it, how we do not know: forgets it. */
void run_vanished(struct run *r);
/* An answer is on its way that will call back with this run. */
bool run_awaits_answer(const struct run *r);
/* The pool's lease is gone: forgets the run and touches nothing outside, now or, if an answer is
 * awaited, with that. */
void run_abandon(struct run *r);
/* First thing in every callback: true: the run was abandoned and is gone now. */
bool run_is_gone(struct run *r);
/* Hand-offs (hand_off.c), retries and dead letters (ending.c) of abandoned runs that have no answer
 * yet are not sent again. */
void run_give_up_hand_offs(struct dispatch *d);
void run_give_up_endings(struct dispatch *d);
bool run_is_abandoned(const void *run);
/* The queue message was delivered again: newest lease; its content too where it is needed. msg
 * taken. */
void run_set_lease(struct run *r, const char *ack_subject);
/* Lets go of the content once the hand-off is stored, or to be read again when it is its turn. */
void run_drop_content(struct run *r);
/* The run has a hand-off with this sequence. */
void run_set_work(struct run *r, uint64_t work_seq);
/* Its token is used, or given back: it waits for no answer any more. */
void run_use_token(struct run *r);
/* No longer occupies a place among the pool's un-acked tasks. */
void run_uncount(struct run *r);
/* Its AX_WORK was recreated: asks for the queue message again, which will be handed off anew. */
void run_lose(struct run *r);
/* "<id>.<stream>.<seq>.<stored ns><suffix>": the queue message's identity as a Nats-Msg-Id.
 * out[256]. */
void run_identity(const struct run *r, const char *suffix, char *out);

/* hand_off.c: checks the filter, reads AX_DONE on a maybe, publishes to AX_WORK. The run is
 * unlinked from the staged list and its demand and token are taken already. */
void run_hand_off(struct run *r);

/* ending.c */
void run_finish(struct run *r); /* rule "finished": record, then ack */
/* The retry of an attempt that was acked late (rule 5), while the record of that may not be stored
 * yet: finished as it. */
void run_finish_as(struct run *r, uint32_t attempt, uint64_t work_seq);
void run_end_again(struct run *r);  /* repeats the steps of the end that was decided */
void run_was_buried(struct run *r); /* its dead letter is there: ack the queue message, forget */
/* found (NULL: none) is the dead letter of this very attempt. */
bool run_is_dead_letter(const struct run *r, const struct stored_msg *found);
/* Retry after delay_ms (-1: backoff), or dead letter when there were enough. */
void run_fail(struct run *r, const char *why, int64_t delay_ms);
void run_time_out(struct run *r);              /* silence: the same, with a limit of its own */
void run_bury(struct run *r, const char *why); /* dead letter at once */
void run_drop(struct run *r);                  /* done before: ack the queue message, forget */
/* The attempt has run since `ran_ms` ago: starts the clock of its Ax-Timeout, if it has one. */
void run_limit(struct run *r, int64_t ran_ms);
/* Ends a staged or running one for good, without a next attempt: revoke, ack the queue message,
 * remove the hand-off. ended: called once when the queue message is gone (true), or when it could
 * not be (false: the lease decides). A worker that acks meanwhile is recorded as done: *done
 * tells. */
void run_cancel(struct run *r, void (*ended)(void *arg, bool gone, bool done), void *arg);

/* ax.revoke.<pool>.<id>: tells a worker that listens that attempts with a token below `fence` are
 * over. */
void run_revoke(const struct run *r, uint64_t fence);

/* look.c */
void run_look(struct run *r); /* rules 3 and 7 */
/* Its lease has lapsed and did not come back: the queue message may be gone (the answer to its ack
 * was lost). Until the run is forgotten, no other message of its id is started. */
void run_look_after(struct run *r);
void run_renew(struct run *r); /* in-progress on the queue message */

#endif
