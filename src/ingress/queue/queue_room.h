/* Places of a queue for one pool's tasks (docs/design/submitting.md, "Shares of pools"). How many
 * tasks the queue has is known between two readings from the sequences of our own PubAcks: they
 * count what everybody stores. Lock of the loop held in every call. */
#ifndef AX_INGRESS_QUEUE_QUEUE_ROOM_H
#define AX_INGRESS_QUEUE_QUEUE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/stream_info.h"
#include "ingress/queue/pool_shares.h"

struct queue;

/* How full the queue is. */
struct queue_fill {
    /* by the last reading: its last sequence, messages, and messages gone until then */
    uint64_t read_seq, messages, removed;
    uint64_t last_seq; /* newest sequence that was heard of */
    uint64_t own;      /* stored by this process, ever */
    /* as many when a reading was asked for; when the last one that came was */
    uint64_t own_asked, own_heard;
    double others;           /* for each task that this process stores, so many are stored */
    int64_t created_ns;      /* tells a queue stream from another of its name */
    int64_t heard_ns;        /* monotonic; 0: never read */
    int64_t shared_until_ns; /* monotonic: pools contend, also while one only is known */
    int64_t spill_bytes, spill_max_bytes; /* of AX_SPILL as read, plus what went there since */
    int64_t spill_asked_ns;               /* monotonic */
    bool spill_asking;
};

/* Pools contend for the queue: none may have all of it. */
bool queue_room_is_shared(const struct queue *q);
/* May one more task of pool go into the queue? Answers as pool_shares_take does. */
enum pool_share queue_room_take(struct queue *q, const char *pool, struct pool_held **out,
                                struct over_quota *e);
/* What was let in was stored, under seq (0: not told), or was not. h: from queue_room_take, may be
 * NULL. */
void queue_room_settled(struct queue *q, struct pool_held *h, bool stored, uint64_t seq);
/* AX_SPILL is so full that the rest of it is kept for pools within their share of the queue. */
bool queue_room_spill_is_kept(const struct queue *q);
/* A task with a body of so many bytes goes into AX_SPILL. */
void queue_room_spilled(struct queue *q, size_t bytes);
/* Reads how full AX_SPILL is, unless it was read a moment ago. For as long as tasks of this
 * priority are in it. */
void queue_room_watch_spill(struct queue *q);
/* The queue stream is about to be read; then it was. */
void queue_room_asks(struct queue *q);
void queue_room_learn(struct queue *q, const struct stream_info *info);

#endif
