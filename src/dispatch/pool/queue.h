/* One priority of a pool: the consumer <pool> on that priority's stream, and what it has sent. Loop
 * lock. */
#ifndef AX_DISPATCH_POOL_QUEUE_H
#define AX_DISPATCH_POOL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/provision/priorities.h"
#include "bus/puller.h"
#include "dispatch/fair/groups.h"
#include "dispatch/pool/pool_stats.h"
#include "task/names.h"

struct attempt;
struct order_slot;
struct pool;

#define STAGE_BYTES 16000000 /* of waiting tasks kept in memory, about, for each priority */

/* One priority of a pool: the consumer <pool> on that priority's stream. */
struct queue {
    struct pool *pool;
    char priority[NAME_MAX_CHARS + 1];
    char stream[64];
    int rank;
    bool live; /* false: the stream is no priority any more; what is in flight goes on */
    struct puller *puller;
    struct attempt *staged_head, *staged_tail;
    int staged;
    struct turns turns;         /* of the group queues that have a task which may start */
    struct group_queue plain;   /* of the tasks that name no group */
    struct order_slot *slots;   /* of ordered tasks, by sequence */
    uint64_t heard_cseq;        /* consumer sequence of the last delivery */
    int64_t grouped;            /* attempts that name a group */
    int64_t congested_until_ns; /* monotonic: it was full for somebody; see occupancy_on_refused */
    int64_t hold_until_ns;      /* monotonic: a group was named a while ago; see queue_holds_all */
    int64_t kept_bytes;         /* memory of the messages that wait, about */
    double body_bytes;          /* size of a task lately: large ones are held in smaller numbers */
    uint64_t behind;   /* messages the server still had for us after the last one it sent */
    int64_t behind_ns; /* monotonic: when that was */
    /* attempts whose lease must have come back: room for them beyond what is staged */
    int expired_leases;
    struct attempt *attempts; /* hash by queue_seq: all attempts of this queue */
    struct queue_stats stats;
};

/* Makes the queue of a priority, unless out of memory or places; the provisioner comes by again. */
void queue_new(struct pool *p, const struct priority *pr);
struct queue *queue_of(struct pool *p, const char *priority);
struct queue *queue_of_stream(struct pool *p, const char *stream);
/* Given back with a delay: without one it would come straight back to the pulls we still have
 * open. */
#define QUEUE_NAK_MS 300
/* Everything that waits is held, not only what may be wanted soon: groups take turns, or are
 * limited. */
bool queue_holds_all(const struct queue *q);
/* Unlinks a from its queue's staged list / puts it there (at the front when it was there
 * before). */
void queue_unstage(struct attempt *a);
void queue_stage(struct attempt *a, bool front);

#endif
