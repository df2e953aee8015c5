/* The stats of a pool: what waits, how busy its workers are, how many attempts time out, how long
 * they take; as gauges for /metrics, and for who asks on ax.figures with what they were over the
 * last minutes. Only the leader of a pool can tell them: elsewhere the gauges are hidden. Once a
 * second, from what is known anyway; nothing here is on the road of a task but two clock readings
 * for each ack. Loop lock. */
#ifndef AX_DISPATCH_POOL_POOL_STATS_H
#define AX_DISPATCH_POOL_POOL_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/ack.h"
#include "dispatch/attempt/dead_reason.h"
#include "stats/history.h"
#include "stats/metrics.h"
#include "stats/stats_answer.h"
#include "stats/window.h"

struct superseded_ack;
struct pool;
struct queue;
struct attempt;

/* Rows of struct past's history, beside those that are told (enum pool_series). */
enum {
    SERIES_BUSY = POOL_SERIES_COUNT,
    SERIES_BUSY_SEEN,
};
#define STATS_SHORT_NS 60000000000LL
#define STATS_LONG_NS 300000000000LL

struct past {
    struct history history;
    /* of an attempt: hand-off to ack; the longest time without a word from its worker */
    struct window run, silence;
    double busy; /* sum of what was seen once a second */
    /* seconds, counted: workers there; tasks waited; held back by the bucket, max_ack_pending,
     * limits of groups */
    int64_t busy_seen, waited, limited, capped, grouped;
};

struct pool_stats {
    /* since it was led for the first time, kept over short absences; NULL: never, or no memory */
    struct past *past;
    double busy; /* -1: no worker is there */
    /* the last task whose turn came, with a worker for it, found no token */
    bool short_of_tokens;
    /* a worker asked last, and of what is held ready nothing may start: if there is anything */
    bool held_by_groups;
    struct metric *m_busy, *m_timeout_ratio, *m_tokens, *m_rate, *m_demand, *m_pulls, *m_ack_wait,
        *m_lease_left;
    struct metric *m_dead[DEAD_REASONS], *m_cancelled, *m_put_off, *m_progress, *m_leases_taken;
};

struct queue_stats {
    int64_t pending; /* tasks in the queue that are not handed off; -1: not known */
    int64_t asked_ns, told_ns;
    bool asking;
    struct metric *m_pending;
};

void pool_stats_init(struct pool *p);
void pool_stats_init_queue(struct queue *q);
/* The pool is led from now / no more. */
void pool_stats_begin(struct pool *p);
void pool_stats_end(struct pool *p);
/* Once a second while it is ready. */
void pool_stats_tick(struct pool *p);
/* An ack of a running attempt, or an in-progress; of a superseded one. */
void pool_stats_heard(struct attempt *r, enum ack_kind kind);
void pool_stats_heard_late(struct pool *p, const struct superseded_ack *l);
/* A dead letter of r was written. */
void pool_stats_dead(const struct attempt *r);
/* Tasks of the pool that wait for their hand-off, in all its queues. */
int64_t pool_stats_pending(const struct pool *p);

#endif
