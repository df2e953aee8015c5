/* A pool: a class of workers with its settings, its token bucket, its demand, one queue for each
 * priority, and the attempts in flight (docs/design/dispatching.md). Each part has an owner: see
 * the structs. Loop's lock held. */
#ifndef AX_DISPATCH_POOL_POOL_H
#define AX_DISPATCH_POOL_POOL_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rate/bucket.h"
#include "bus/ack.h"
#include "bus/provision/priorities.h"
#include "bus/puller.h"
#include "bus/reader.h"
#include "dispatch/attempt/acks.h"
#include "dispatch/attempt/attempt.h"
#include "dispatch/attempt/terminations.h"
#include "dispatch/fair/groups.h"
#include "dispatch/fair/ordered.h"
#include "dispatch/lead/leadership.h"
#include "dispatch/pool/demand.h"
#include "dispatch/pool/pool_stats.h"
#include "dispatch/pool/queue.h"
#include "dispatch/pool/work_consumer.h"
#include "dispatch/pool_table.h"
#include "dispatch/rate/adapt.h"
#include "dispatch/rate/unanswered.h"
#include "stats/metrics.h"
#include "task/names.h"
#include "task/settings.h"

struct cancel;
struct dispatch;
struct batch_writer;

/* Whether this dispatcher leads the pool, and how far it has got. pool.c. */
struct pool_lead {
    bool led;                  /* by us: between pool_lead and pool_abandon */
    int64_t since_ns;          /* monotonic */
    bool resting;              /* led, but nothing new is begun: it is being given up */
    struct adoption *adoption; /* under way */
    bool adopted;
    int64_t swept_ns;  /* monotonic: AX_WORK was last read for what has no queue message any more */
    bool ready;        /* led, provisioned and adopted: may hand over */
    int64_t ready_ns;  /* AX time: when that was. Earlier tasks may have been with others before */
    bool dead_letters; /* there may be dead letters that those wrote */
    uint64_t catch_up_need;    /* the reading of KV_AX_DONE that the filter's "no" needs */
    struct attempt *abandoned; /* an answer for them is still to come */
};

/* What flows to the workers. pool.c; the bucket's rate is set by adapt.c. */
struct pool_flow {
    struct bucket bucket;
    struct demand demand;
    double share_credit; /* what the lower priorities have saved up; 1 = one hand-off. order.c */
    int64_t peak;        /* highest inflight lately: how much to hold ready */
    int64_t inflight;    /* checking, handing over, or un-acked by a worker */
    struct unanswered unanswered;
    int64_t put_back;  /* attempts whose turn had come, and that were put back: counted */
    int64_t answer_ns; /* how long the answer to a hand-off takes, smoothed; 0: not known */
    struct loop_later pump;
    struct loop_timer timer;
};

struct pool_counters {
    struct metric *handed, *done, *retried, *timeouts, *overran, *naks, *duplicates;
    struct metric *taken_back, *given_back, *removed, *unheard, *too_large, *pulls_hasty;
    struct metric *superseded_acks, *acks_refused, *leases_expired, *leases_lost;
    struct metric *inflight, *led, *paused, *groups; /* gauges */
    struct metric *queue_seconds, *run_seconds;
};

struct pool {
    struct dispatch *dispatch;
    char name[NAME_MAX_CHARS + 1];
    struct settings settings;
    bool paused; /* by its settings, or because an operator paused the AX_WORK consumer */
    struct pool_table_entry entry;
    struct queue *queues[PRIORITIES_MAX]; /* by rank */
    int queue_count;
    struct attempt *by_work, *by_id;
    struct pool_lead lead;
    struct pool_flow flow;
    struct work_consumer consumer;
    struct pool_acks acks;
    struct pool_order order;
    struct adapt adapt;
    struct leadership leadership;
    struct group *groups;
    struct cancel *cancels; /* under way */
    struct terminations terminations;
    struct batch_writer *batch_writer; /* finished tasks that wait to be recorded together */
    struct loop_timer occupancy_timer;
    struct pool_counters count;
    struct pool_stats stats;
    struct pool *next;
};

struct pool *pool_new(struct dispatch *d, const char *name);
/* New settings. */
void pool_set_settings(struct pool *p, const struct settings *s);
/* Its settings cannot be read, and no former ones are known: it starts nothing until
 * pool_set_settings. */
void pool_rest_unread(struct pool *p);
/* Tasks of it are known here, waiting or under way. */
bool pool_has_tasks(const struct pool *p);
/* It was removed: gives up its lease and forgets all attempts; leaves no metric behind. The pool
 * stays in memory, since answers for it are still to come. */
void pool_close(struct pool *p);
/* It exists again. */
void pool_reopen(struct pool *p);
/* The priorities as the server has them now: makes queues for new ones. */
void pool_set_priorities(struct pool *p, const struct priorities *ps);
/* The consumers exist (again): pullers may ask; adopts AX_WORK the first time. */
void pool_set_provisioned(struct pool *p);
/* A worker's pull request was heard. */
void pool_on_pull(struct pool *p, const struct pull_request *r);
void pool_reconnected(struct pool *p);
/* The lease was taken: adopts AX_WORK and begins. */
void pool_lead(struct pool *p);
/* Nothing new is begun; what is held and not handed off goes back to the queues at once. */
void pool_rest(struct pool *p);
/* No step is under way. */
bool pool_is_quiet(const struct pool *p);
/* The lease is lost or given up: forgets all attempts and touches nothing more. */
void pool_abandon(struct pool *p);
/* Another dispatcher leads it, and was heard a moment ago. */
bool pool_is_led_elsewhere(const struct pool *p);
/* AX_WORK was recreated: nothing that was in it is to pass for done. */
void pool_work_recreated(struct pool *p);

#endif
