/* A pool: a class of workers with its settings, its token bucket, its demand, one queue per
 * priority, and the runs in flight. pool_pump is the scheduler: it hands over while there is
 * demand, a token and a task, strictly by rank with a share kept for the lower ones
 * (docs/design.md). Loop lock. */
#ifndef AX_DISPATCH_POOL_POOL_H
#define AX_DISPATCH_POOL_POOL_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "bus/ack.h"
#include "bus/provision.h"
#include "bus/puller.h"
#include "bus/reader.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/attempt/terminations.h"
#include "dispatch/fair/groups.h"
#include "dispatch/lead/leadership.h"
#include "dispatch/pool/demand.h"
#include "dispatch/pool/pool_stats.h"
#include "dispatch/rate/adapt.h"
#include "dispatch/rate/bucket.h"
#include "dispatch/rate/unanswered.h"
#include "stats/metrics.h"
#include "task/names.h"
#include "task/settings.h"

struct cancel;
struct dispatch;
struct batch_writer;
struct order_slot;
struct rebuild;

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
    struct turns turns;         /* of the lines that have a task which may start */
    struct group_queue plain;   /* of the tasks that name no group */
    struct order_slot *slots;   /* of ordered tasks, by sequence */
    uint64_t heard_cseq;        /* consumer sequence of the last delivery */
    int64_t grouped;            /* runs that name one */
    int64_t congested_until_ns; /* monotonic: it was full for somebody; see occupancy_on_refused */
    int64_t hold_until_ns;      /* monotonic: groups were seen a while ago; see queue_holds_all */
    int64_t kept_bytes;         /* memory of the messages that wait, about */
    double body_bytes;          /* size of a task lately: large ones are held in smaller numbers */
    uint64_t behind;   /* messages the server still had for us after the last one it sent */
    int64_t behind_ns; /* monotonic: when that was */
    /* runs whose lease must have come back: room for them beyond what is staged */
    int expired_leases;
    struct attempt *attempts; /* hash by queue_seq: all runs of this queue */
    struct queue_stats stats;
};

/* Receipts for hand-offs whose PubAck is still on its way, or heard while another dispatcher leads
 * or none does; superseded attempts whose ack may still come. */
struct pending_ack {
    uint64_t work_seq;
    struct ack_payload payload;
    UT_hash_handle hh;
};
#define SUPERSEDED_MAX 4096
struct superseded_ack {
    uint64_t work_seq;
    char id[TASK_ID_CHARS + 1];
    uint32_t attempt;
    int64_t handed_ns, heard_ns; /* as in struct attempt */
    UT_hash_handle hh;           /* in order of insertion: the oldest goes first */
};

/* A late ack that was heard, whose record may not be stored yet. */
struct unrecorded_ack {
    char id[TASK_ID_CHARS + 1];
    uint32_t attempt;
    uint64_t work_seq;
    int64_t heard_ns;
    UT_hash_handle hh;
};

struct pool {
    struct dispatch *dispatch;
    char name[NAME_MAX_CHARS + 1];
    struct settings settings;
    struct bucket bucket; /* its rate is set by adapt.c */
    struct adapt adapt;
    struct demand demand;
    struct queue *queues[PRIORITIES_MAX]; /* by rank */
    int queue_count;
    double share_credit; /* what the lower priorities have saved up; 1 = one hand-off */
    int64_t peak;        /* highest inflight lately: how much to hold ready */
    int64_t inflight;    /* checking, handing over, or un-acked by a worker */
    struct unanswered unanswered;
    int64_t answer_ns; /* how long the answer to a hand-off takes, smoothed; 0: not known */
    int64_t max_ack_pending, ack_wait_ns; /* of the AX_WORK consumer, as last read */
    uint64_t delivered_seq;               /* the same: AX_WORK sequence delivered last */
    bool provisioned;                     /* consumers exist */
    struct leadership leadership;
    struct group *groups;
    bool order_known; /* of all that waits and is ordered: ordered.h */
    bool order_invalid;
    struct rebuild *rebuild;         /* under way */
    uint32_t rebuilds, led_rebuilds; /* begun; at the time we began to lead */
    struct loop_timer rebuild_timer;
    int checks;     /* of ordered.c under way */
    int64_t led_ns; /* monotonic: since when */
    bool led;       /* by us: between pool_lead and pool_abandon */
    bool paused;    /* by its settings, or because an operator paused the AX_WORK consumer */
    bool consumer_paused;
    bool resting;              /* led, but nothing new is begun: it is being given up */
    struct adoption *adoption; /* under way */
    bool adopted;
    /* monotonic: when AX_WORK was last read for what has no queue message any more */
    int64_t swept_ns;
    bool ready; /* led, provisioned and adopted: may hand over */
    /* AX time: when that was. Earlier tasks may have been with others before */
    int64_t ready_ns;
    bool dead_letters;         /* there may be dead letters that those wrote */
    uint64_t catch_up_need;    /* the reading of KV_AX_DONE that the filter's "no" needs (seen.h) */
    struct attempt *abandoned; /* an answer for them is still to come */
    bool info_pending;
    uint64_t info_changes;
    int64_t info_asked_ns, info_ns; /* monotonic: last question, last answer */
    struct attempt *by_work, *by_id;
    struct cancel *cancels; /* under way */
    struct pending_ack *pending_acks;
    struct superseded_ack *superseded_acks;
    struct unrecorded_ack *unrecorded_acks;
    struct terminations terminations;
    struct loop_later pump;
    struct batch_writer
        *batch_writer; /* records.c: finished tasks that wait to be recorded together */
    struct loop_timer pump_timer, occupancy_timer;
    struct metric *m_handed, *m_done, *m_retried, *m_timeouts, *m_overran, *m_naks, *m_duplicates,
        *m_late, *m_inflight, *m_lapsed, *m_led, *m_paused, *m_queue_seconds, *m_run_seconds,
        *m_leases_lost, *m_groups;
    struct pool_stats stats;
    struct pool *next;
};

struct pool *pool_new(struct dispatch *d, const char *name);
/* New settings; NULL: defaults. */
void pool_set_settings(struct pool *p, const struct settings *s);
/* The priorities as the server has them now: makes queues for new ones. */
void pool_set_priorities(struct pool *p, const struct priorities *ps);
/* The consumers exist (again): pullers may ask; adopts AX_WORK the first time. */
void pool_set_provisioned(struct pool *p);
/* Something changed: hands over what can be handed over, and asks the queues for more. Once for all
 * that one read brings, so that a pull and a task of higher priority that come together meet
 * whatever their order. */
void pool_pump(struct pool *p);
/* A worker's pull request, or receipt for AX_WORK sequence w, which the server had stored at
 * stored_ns. */
void pool_on_pull(struct pool *p, const struct pull_request *r);
void acks_on_ack(struct pool *p, uint64_t work_seq, int64_t stored_ns, const struct ack_payload *a);
/* The server gave up on w (max deliveries advisory): ack_wait has passed in silence, or the worker
 * said nak. */
void acks_on_max_deliveries(struct pool *p, uint64_t work_seq);
/* held.c: an ingress had no room in this priority for tasks of a group; tells for a while what the
 * groups hold. */
void occupancy_on_refused(struct pool *p, const char *priority);
/* Once a second: leases, lapsed runs, the consumer's info. */
void pool_tick(struct pool *p);
void pool_reconnected(struct pool *p);
/* The lease was taken: adopts AX_WORK and begins. */
void pool_lead(struct pool *p);
/* Nothing new is begun; what is held and not handed off goes back to the queues at once. */
void pool_rest(struct pool *p);
/* No step is under way. */
bool pool_is_quiet(const struct pool *p);
/* The lease is lost or given up: forgets all runs and touches nothing more. */
void pool_abandon(struct pool *p);
/* Another dispatcher leads it, and was heard a moment ago. */
bool pool_is_led_elsewhere(const struct pool *p);
/* AX_WORK was recreated: nothing that was in it is to pass for done. */
void pool_work_recreated(struct pool *p);

/* adopt.c (rule 8): reads AX_WORK for the pool, adopts what is there, sweeps what has lost its
 * queue message; then sets p->adopted and pumps. */
void adopt_start(struct pool *p);
/* The same while it leads and nothing is under way: a server that went down between the ack of a
 * hand-off and its removal may have kept it. */
void adopt_sweep(struct pool *p);
void adopt_stop(struct pool *p);

/* Consumer INFO of AX_WORK/<pool>: ack_wait, max_ack_pending, waiting pulls, undelivered. */
void pool_read_info(struct pool *p);

/* cancel.c: removes the task wherever it is and answers on reply (NULL: nobody asks). */
void cancel_start(struct pool *p, const char *id, const char *reply);
/* The queue has sent a message of this id. */
void cancel_saw(struct pool *p, const char *id);

/* Makes the queue of a priority, unless out of memory or places; the keeper comes by again. */
void queue_new(struct pool *p, const struct priority *pr);
struct queue *queue_of(struct pool *p, const char *priority);
struct queue *queue_of_stream(struct pool *p, const char *stream);
/* Given back with a delay: without one it would come straight back to the pulls we still have
 * open. */
#define NAK_LATER "-NAK {\"delay\":300000000}"
/* Everything that waits is held, not only what may be wanted soon: groups take turns, or are
 * limited. */
bool queue_holds_all(const struct queue *q);
/* Unlinks r from its queue's staged list / puts it there (at the front when it was there
 * before). */
void queue_unstage(struct attempt *r);
void queue_stage(struct attempt *r, bool front);
/* Remembers a superseded hand-off, so that its late ack is honoured (rule 5). */
void acks_remember_superseded(struct pool *p, const struct attempt *r);
void acks_honour(struct pool *p, const struct superseded_ack *l);
/* Its retry is on its way, and may be looked up before the record is stored. */
void acks_remember_unrecorded(struct pool *p, const struct superseded_ack *l);
/* True: a late ack of this task was heard a moment ago, of this attempt. */
bool acks_was_acked(struct pool *p, const char *id, uint32_t *attempt, uint64_t *work_seq);
/* AX_WORK was recreated: what was kept by its sequences is void. */
void acks_forget_sequences(struct pool *p);
/* A task was cancelled: its key is free, and an ack of one of its attempts must not take it. */
void acks_forget_task(struct pool *p, const char *id);
/* The pool is given up: acks whose record was not stored yet are kept for the case that we lead
 * again, and told to the others; and what is with workers is remembered: an ack of it that we hear
 * is recorded, whoever leads. */
void acks_keep(struct pool *p);
/* ax.acked.<pool>: another dispatcher gave the pool up, and had heard these. */
void acks_on_unrecorded(struct pool *p, const void *data, size_t bytes);
/* A hand-off got its sequence, or was adopted: was its receipt heard before? */
void acks_take_pending(struct pool *p, struct attempt *r);

#endif
