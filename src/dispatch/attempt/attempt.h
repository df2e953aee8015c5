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
#include "dispatch/attempt/dead_reason.h"
#include "dispatch/fair/groups.h"
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

/* The queue message's lease: its pending state at the server. attempt.c. */
struct attempt_lease {
    char *subject;       /* newest ack subject of the queue message; owned */
    int64_t renewed_ns;  /* monotonic: when it was last renewed */
    int64_t verified_ns; /* monotonic: when it was last verified without having come back */
    bool redelivered;    /* delivered before: another dispatcher may have ended it */
};

/* The hand-off: its message in AX_WORK, and what it took to be handed off. hand_off.c. */
struct attempt_hand_off {
    uint64_t seq;       /* sequence in AX_WORK = fencing token; 0: none yet */
    int64_t epoch_ns;   /* creation time of the AX_WORK it was handed off to */
    int64_t at_ns;      /* monotonic: hand-off, as far as it is known; 0: it is not */
    int64_t heard_ns;   /* monotonic: the worker's last in-progress; 0: none was heard */
    int64_t silence_ns; /* the longest time so far without a word from it */
    int64_t active_ns;  /* monotonic: hand-off, adoption or the worker's last in-progress */
    struct pull *pull;  /* whom it was handed to; NULL: adopted, or not handed off */
    bool token;         /* holds a token of the pool's bucket, to be given back unless it starts */
    int64_t token_ns;   /* monotonic: when that was taken */
    bool counted;       /* counts as in flight in the pool */
    struct loop_timer limit; /* Ax-Timeout: end of the whole attempt, in-progress or not */
};

/* How it ends, kept for the steps of ending. ending.c. */
struct attempt_ending {
    enum attempt_end kind;
    bool decided;         /* a step of it got no usable answer and is repeated, not judged anew */
    bool next_attempt;    /* a retry was written */
    int64_t delay_ms;     /* before the next attempt; -1: the backoff decides */
    enum dead_reason why; /* of its dead letter, should it become one */
    char reason[256];     /* the same in words */
    void (*cancelled)(void *arg, bool gone, bool done);
    void *cancel_arg;
    bool done_late; /* END_CANCELLED: the worker's ack was heard meanwhile */
};

/* Where it can be found. attempt.c; queue.c for prev and next. */
struct attempt_links {
    bool in_work, in_id;
};

struct attempt {
    struct pool *pool;
    struct queue *queue;
    enum attempt_state state;
    uint64_t queue_seq; /* the queue message's identity, with queue->stream and stored_ns */
    int64_t stored_ns;
    /* the queue message while it may still have to be handed off; owned, NULL afterwards, and while
     * it waits when there are too many to keep them all (queue_stage) */
    natsMsg *msg;
    size_t bytes;     /* of memory that msg takes, about */
    struct task task; /* while msg is there; id, priority, pool, attempt, timeouts always */
    struct attempt_lease lease;
    struct attempt_hand_off hand_off;
    struct attempt_turn turn;
    struct attempt_ending end;
    struct attempt_links links;
    struct attempt *prev, *next; /* queue->staged */
    UT_hash_handle by_seq;       /* queue->attempts, by queue_seq */
    UT_hash_handle by_work;      /* pool->by_work, by hand_off.seq */
    UT_hash_handle by_id;        /* pool->by_id, by task.id */
    bool abandoned; /* the pool is led by another: whatever is answered, nothing follows */
};

/* A new run for a queue message (taken). NULL: out of memory, msg destroyed, the lease will lapse.
 * r->reason is set when the message is no task: bury it, else stage it. */
struct attempt *attempt_new(struct queue *q, natsMsg *msg, uint64_t queue_seq, int64_t stored_ns);
/* An attempt found in AX_WORK at start (rule 8). t: taken, whatever comes of it; its content is
 * dropped. lease: copied. NULL: out of memory. */
struct attempt *attempt_adopt(struct queue *q, struct task *t, const char *lease,
                              uint64_t queue_seq, int64_t stored_ns, uint64_t work_seq);
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

/* In-progress on the queue message. */
void attempt_renew(struct attempt *r);

#endif
