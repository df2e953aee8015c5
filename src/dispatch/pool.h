/* A pool: a class of workers with its settings, its token bucket, its demand, one queue per priority, and the runs in
 * flight. pool_pump is the scheduler: it hands over while there is demand, a token and a task, strictly by rank with a
 * share kept for the lower ones (docs/design.md). Loop lock. */
#ifndef AX_DISPATCH_POOL_H
#define AX_DISPATCH_POOL_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/ack.h"
#include "core/bucket.h"
#include "core/metrics.h"
#include "core/names.h"
#include "core/provision.h"
#include "core/puller.h"
#include "core/reader.h"
#include "core/settings.h"
#include "dispatch/demand.h"
#include "dispatch/run.h"

struct dispatch;

/* One priority of a pool: the consumer <pool> on that priority's stream. */
struct queue {
    struct pool *pool;
    char priority[NAME_MAX_CHARS + 1];
    char stream[64];
    int rank;
    bool live; /* false: the stream is no priority any more; what is in flight goes on */
    struct puller *puller;
    struct run *staged_head, *staged_tail;
    int staged;
    double body_bytes;   /* size of a task lately: large ones are held in smaller numbers */
    uint64_t behind;     /* messages the server still had for us after the last one it sent */
    int64_t behind_ns;   /* monotonic: when that was */
    int lapsed;          /* runs whose lease must have come back: room for them beyond what is staged */
    struct run *runs; /* hash by queue_seq: all runs of this queue */
};

/* Receipts for hand-offs whose PubAck is still on its way; superseded attempts whose ack may still come. */
struct early {
    uint64_t work_seq;
    struct ack_payload payload;
    UT_hash_handle hh;
};
#define LATE_MAX 4096
struct late {
    uint64_t work_seq;
    char id[TASK_ID_CHARS + 1];
    uint32_t attempt;
    UT_hash_handle hh; /* in order of insertion: the oldest goes first */
};

struct pool {
    struct dispatch *dispatch;
    char name[NAME_MAX_CHARS + 1];
    struct settings settings;
    struct bucket bucket;
    struct demand demand;
    struct queue *queues[PRIORITIES_MAX]; /* by rank */
    int queue_count;
    double share_credit; /* what the lower priorities have saved up; 1 = one hand-off */
    int64_t peak;        /* highest inflight lately: how much to hold ready */
    int64_t inflight;    /* checking, handing over, or un-acked by a worker */
    int64_t max_ack_pending, ack_wait_ns; /* of the AX_WORK consumer, as last read */
    uint64_t delivered_seq; /* the same: AX_WORK sequence delivered last */
    bool provisioned;    /* consumers exist */
    bool adopting, adopted;
    bool ready;          /* provisioned and adopted: may hand over */
    bool info_pending;
    uint64_t info_changes;
    int64_t info_asked_ns, info_ns; /* monotonic: last question, last answer */
    struct run *by_work, *by_id;
    struct early *early;
    struct late *late;
    struct loop_later pump;
    struct loop_timer pump_timer;
    struct metric *m_handed, *m_done, *m_retried, *m_dead, *m_timeouts, *m_overran, *m_naks, *m_duplicates, *m_late, *m_inflight,
        *m_lapsed;
    struct pool *next;
};

struct pool *pool_new(struct dispatch *d, const char *name);
void pool_free(struct pool *p);
/* New settings; NULL: defaults. */
void pool_set_settings(struct pool *p, const struct settings *s);
/* The priorities as the server has them now: makes queues for new ones. */
void pool_set_priorities(struct pool *p, const struct priorities *ps);
/* The consumers exist (again): pullers may ask; adopts AX_WORK the first time. */
void pool_set_provisioned(struct pool *p);
/* Something changed: hands over what can be handed over, and asks the queues for more. Once for all that one read brings,
 * so that a pull and a task of higher priority that come together meet whatever their order. */
void pool_pump(struct pool *p);
/* A worker's pull request, or receipt for AX_WORK sequence w, which the server had stored at stored_ns. */
void pool_on_pull(struct pool *p, const struct pull_request *r);
void pool_on_receipt(struct pool *p, uint64_t work_seq, int64_t stored_ns, const struct ack_payload *a);
/* The server gave up on w (max deliveries advisory): ack_wait has passed in silence, or the worker said nak. */
void pool_on_max_deliveries(struct pool *p, uint64_t work_seq);
/* Once a second: leases, lapsed runs, the consumer's info. */
void pool_tick(struct pool *p);
void pool_reconnected(struct pool *p);
/* Stopping: what is held and not handed off goes back to the queues at once. */
void pool_give_back(struct pool *p);
/* AX_WORK was recreated: nothing that was in it is to pass for done. */
void pool_work_recreated(struct pool *p);

/* adopt.c (rule 8): reads AX_WORK for the pool, adopts what is there, sweeps what has lost its queue message; then sets
 * p->adopted and pumps. */
void pool_adopt(struct pool *p);

/* Consumer INFO of AX_WORK/<pool>: ack_wait, max_ack_pending, waiting pulls, undelivered. */
void pool_read_info(struct pool *p);

/* cancel.c: removes the task wherever it is and answers on reply (NULL: nobody asks). */
void cancel_start(struct pool *p, const char *id, const char *reply);

/* Makes the queue of a priority, unless out of memory or places; the keeper comes by again. */
void pool_add_queue(struct pool *p, const struct priority *pr);
struct queue *pool_queue(struct pool *p, const char *priority);
struct queue *pool_queue_of_stream(struct pool *p, const char *stream);
/* Given back with a delay: without one it would come straight back to the pulls we still have open. */
#define NAK_LATER "-NAK {\"delay\":300000000}"
/* Unlinks r from its queue's staged list / puts it there (at the front when it was there before). */
void queue_unstage(struct run *r);
void queue_stage(struct run *r, bool front);
/* Remembers a superseded hand-off, so that its late ack is honoured (rule 5). */
void pool_remember_late(struct pool *p, uint64_t work_seq, const char *id, uint32_t attempt);
void pool_on_late_ack(struct pool *p, const struct late *l);
/* AX_WORK was recreated: what was kept by its sequences is void. */
void pool_forget_sequences(struct pool *p);
/* A hand-off got its sequence: was its receipt heard before? */
void pool_check_early(struct pool *p, struct run *r);

#endif
