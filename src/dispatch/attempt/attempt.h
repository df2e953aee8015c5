/* An attempt: one queue message, from the moment the dispatcher holds its lease to the moment it is
 * ended (docs/design/attempts.md). Its life is the table in attempt_moves.h; attempt_on takes one
 * move of it. What the moves do is in hand_off.c (to its start), verify.c (what has become of it)
 * and ending.c (from its end on). Everything here: loop's lock held. */
#ifndef AX_DISPATCH_ATTEMPT_ATTEMPT_H
#define AX_DISPATCH_ATTEMPT_ATTEMPT_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "bus/ack.h"
#include "bus/loop.h"
#include "bus/pipeline_get.h"
#include "dispatch/attempt/attempt_moves.h"
#include "dispatch/attempt/dead_reason.h"
#include "dispatch/attempt/hand_off_time.h"
#include "dispatch/fair/groups.h"
#include "dispatch/pool/demand.h"
#include "task/task.h"

struct attempt;
struct consumer_info;
struct dispatch;
struct group;
struct group_queue;
struct heard_ack;
struct order_slot;
struct pool;
struct queue;
struct record;
struct stream_info;

/* END_GIVEN_BACK: no worker has had it, or could run it, and another attempt follows. */
enum attempt_end { END_DONE, END_FAILED, END_TIMED_OUT, END_GIVEN_BACK, END_BURIED, END_CANCELLED };

/* The queue message's lease: its pending state at the server. attempt.c. */
struct attempt_lease {
    char *subject;       /* newest ack subject of the queue message; owned */
    int64_t renewed_ns;  /* monotonic: when it was last renewed */
    int64_t verified_ns; /* monotonic: when it was last verified without having come back */
    bool redelivered;    /* delivered before: another dispatcher may have ended it */
};

/* The hand-off: its message in AX_WORK, and what it took to be handed off. hand_off.c. */
struct attempt_hand_off {
    uint64_t seq;              /* sequence in AX_WORK = fencing token; 0: none yet */
    int64_t epoch_ns;          /* creation time of the AX_WORK it was handed off to */
    struct hand_off_time time; /* when it was stored: acks are held against it */
    uint64_t hearing;   /* verify_hearing when it was sent; 0: not by us, or more than once */
    bool removed;       /* it is gone from AX_WORK, and nobody has acked it */
    bool unfetched;     /* nobody fetched it, and it is being taken back */
    bool polled;        /* handed to one that polls, and need not be there all the time */
    bool overrun;       /* the clock of its Ax-Timeout has run out */
    bool doubted;       /* an ack of it was heard that is not the worker's */
    int64_t doubted_ns; /* monotonic: when AX_WORK was last read because of that */
    int64_t at_ns;      /* monotonic: hand-off, as far as it is known; 0: it is not */
    int64_t heard_ns;   /* monotonic: the worker's last in-progress; 0: none was heard */
    int64_t silence_ns; /* the longest time so far without a word from it */
    int64_t active_ns;  /* monotonic: hand-off, adoption or the worker's last in-progress */
    int64_t known_ns;   /* monotonic: hand-off or adoption: it lies in AX_WORK since then */
    struct pull *pull;  /* whom it was handed to; NULL: adopted, or not handed off */
    bool token;         /* holds a token of the pool's bucket, to be given back unless it starts */
    int64_t token_ns;   /* monotonic: when that was taken */
    bool counted;       /* counts as in flight in the pool */
    struct loop_timer limit; /* Ax-Timeout: end of the whole attempt, in-progress or not */
};

/* How it ends, kept for the steps of ending. ending.c. */
struct attempt_ending {
    enum attempt_end kind;
    bool decided;      /* kind holds, and is not judged anew */
    bool judge_again;  /* decided by the server's limit of now: holds only once it is written */
    bool quiet;        /* that was said once */
    bool written;      /* what follows (retry or dead letter) is stored */
    bool next_attempt; /* what follows is a retry */
    uint64_t replaces; /* sequence in AX_LATER of what the retry takes the place of; 0: nothing */
    int64_t delay_ms;  /* before the next attempt; -1: the backoff decides */
    enum dead_reason why; /* of its dead letter, should it become one */
    char reason[256];     /* the same in words */
    uint32_t attempt; /* END_DONE: what is recorded, with its fencing token: an earlier attempt */
    uint64_t fence;   /* that was acked late, or this one */
    void (*cancelled)(void *arg, bool gone, bool done);
    void *cancel_arg;
    bool done_late; /* END_CANCELLED: the worker's ack was heard meanwhile */
};

/* The one question it has asked and awaits the answer of. attempt_ask.c. */
struct attempt_ask {
    bool pending;
    union {
        void (*answer)(struct attempt *a, const struct answer *answer);
        void (*found)(struct attempt *a, ax_err err, const struct stored_msg *found);
        void (*record)(struct attempt *a, ax_err err, const struct record *rec, uint64_t seq);
        void (*consumer)(struct attempt *a, ax_err err, const struct consumer_info *info);
        void (*stream)(struct attempt *a, ax_err err, const struct stream_info *info);
        void (*caught_up)(struct attempt *a);
        void (*termination)(struct attempt *a, bool known, const char *reason);
    } cb;
};

/* Where it can be found. attempt.c; queue.c for prev and next. */
struct attempt_links {
    bool in_work, in_id;
    bool staged;                 /* in queue->staged, by prev and next */
    struct attempt *prev, *next; /* of queue->staged, or of the pool's abandoned ones */
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
    struct task task; /* while msg is there; id, priority, pool, numbers and times always */
    struct attempt_lease lease;
    struct attempt_hand_off hand_off;
    struct attempt_turn turn;
    struct attempt_ending end;
    struct attempt_ask ask;
    struct attempt_links links;
    UT_hash_handle by_seq;  /* queue->attempts, by queue_seq */
    UT_hash_handle by_work; /* pool->by_work, by hand_off.seq */
    UT_hash_handle by_id;   /* pool->by_id, by task.id */
    bool abandoned;         /* the pool is led by another: whatever is answered, nothing follows */
};

/* What is known of an event. Borrowed for the call of attempt_on; zero what does not apply. */
struct attempt_news {
    enum attempt_end end;  /* where its end is decided: how, */
    enum dead_reason dead; /* why, should it become a dead letter, */
    const char *reason;    /* and in words, */
    int64_t delay_ms;      /* the worker's wish for its next attempt; -1: none, */
    uint32_t attempt;      /* END_DONE: what is to be recorded; 0: this attempt */
    uint64_t fence;
    struct metric *count; /* counted if the end is decided; NULL: nothing */
    bool judge_again;     /* that end holds only once what follows is stored */
    bool overload;        /* it ended without a word in time: pressure for an adaptive rate */
    const char *why;      /* NO_ANSWER: which step got none */
    struct task *task;    /* CONTENT: what was read; NULL: the attempt's own */
    uint64_t seq;         /* STORED, DUPLICATE: sequence of the hand-off */
    bool known;           /* STORED, PLACE_LEADS_ON: it was stored before the first try */
    int64_t ns;           /* OTHER_STREAM: creation time of the AX_WORK that is there now */
    const struct heard_ack *ack;
    void (*cancelled)(void *arg, bool gone, bool done); /* CANCEL: told once how it went */
    void *cancel_arg;
};

/* A new attempt for a queue message (taken): staged, or buried when it is no task. NULL: out of
 * memory, msg destroyed, its lease will expire. */
struct attempt *attempt_new(struct queue *q, natsMsg *msg, uint64_t queue_seq, int64_t stored_ns,
                            bool redelivered);
/* One found in AX_WORK on taking over (rule 8). t: read from the hand-off; taken, whatever comes of
 * it. lease: ack subject of its queue message, copied. NULL: out of memory. */
struct attempt *attempt_adopt(struct queue *q, struct task *t, const char *lease,
                              uint64_t queue_seq, int64_t stored_ns, uint64_t work_seq);

/* Takes the move for this event: the one way in which an attempt changes its state. news may be
 * NULL. The attempt may be forgotten afterwards. An event that is not legal in its state is logged
 * and changes nothing. */
void attempt_on(struct attempt *a, enum attempt_event event, const struct attempt_news *news);
/* This event is legal now. Asks for the facts that decide. */
bool attempt_may(const struct attempt *a, enum attempt_event event);

/* The attempt of this pool with this hand-off; of this task; of this queue message. NULL: none. */
struct attempt *attempt_of_work(const struct pool *p, uint64_t work_seq);
struct attempt *attempt_of_task(const struct pool *p, const char *id);
struct attempt *attempt_of_message(const struct queue *q, uint64_t queue_seq);

/* Forgets it and touches nothing outside this process. */
void attempt_forget(struct attempt *a);
/* The pool is not led any more: forgets it and touches nothing outside, now or, if an answer is
 * awaited, with that. */
void attempt_abandon(struct attempt *a);
bool attempt_is_abandoned(const void *attempt);

/* The newest ack subject of its queue message (copied). */
void attempt_set_lease(struct attempt *a, const char *ack_subject);
/* In-progress on the queue message. */
void attempt_renew(struct attempt *a);
/* Lets go of the content: its hand-off is stored, or it is read again when it is its turn. */
void attempt_drop_content(struct attempt *a);
/* Its hand-off has this sequence; 0: it has none. */
void attempt_set_work(struct attempt *a, uint64_t work_seq);
/* Its token is used, or given back to the bucket: it is not among the unanswered starts any more.
 */
void attempt_use_token(struct attempt *a);
void attempt_return_token(struct attempt *a);
/* It does not count as in flight any more. */
void attempt_uncount(struct attempt *a);
/* "<id>.<stream>.<seq>.<stored ns><suffix>": the queue message's identity as a Nats-Msg-Id. */
#define ATTEMPT_IDENTITY_MAX 256
void attempt_identity(const struct attempt *a, const char *suffix, char *out);

#endif
