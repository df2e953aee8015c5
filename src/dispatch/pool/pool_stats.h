/* The stats of a pool (docs/design/stats.md): how many tasks wait, how busy its workers are, how
 * many attempts time out, how long they take. They are gauges for /metrics, and with their history
 * of the last minutes the source of stats_reply.h. Only the leader of a pool knows them; elsewhere
 * the gauges are hidden. They are computed once a second from what is known anyway; a task costs no
 * more than two clock readings for each acknowledgement. Loop lock. */
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

/* Series of struct past's history beside those of enum pool_series. */
enum {
    SERIES_BUSY = POOL_SERIES_COUNT,
    SERIES_BUSY_SEEN,
};
#define STATS_SHORT_NS 60000000000LL /* "the last minute" */
#define STATS_LONG_NS 300000000000LL /* "the last five minutes" */

struct past {
    struct history history;
    struct window run;     /* of an attempt: from hand-off to its end */
    struct window silence; /* of an attempt: the longest time in it without an acknowledgement */
    /* Seconds, counted since the beginning: */
    double busy;       /* sum of the busy ratio */
    int64_t busy_seen; /* with workers, so that the busy ratio is known */
    int64_t waited;    /* in which tasks waited; of these, held back by */
    int64_t limited;   /* the token bucket although workers asked, */
    int64_t capped;    /* max_ack_pending, */
    int64_t grouped;   /* or limits of their groups */
};

struct pool_stats {
    /* Since the pool was first led; kept while another leads it for a short time. Owned; NULL:
     * never led, or no memory. */
    struct past *past;
    double busy;          /* ratio over the last 15 s; -1: there is no worker */
    bool short_of_tokens; /* the last task that could have started found no token */
    bool held_by_groups;  /* when a worker last asked, no task that waits here could start */
    struct metric *m_busy, *m_timeout_ratio, *m_tokens, *m_rate, *m_demand, *m_pulls, *m_ack_wait,
        *m_lease_left;
    struct metric *m_dead[DEAD_REASONS], *m_cancelled, *m_put_off, *m_progress, *m_leases_taken;
};

struct queue_stats {
    int64_t pending;               /* tasks in the queue that are not handed off; -1: not known */
    int64_t asked_ns, answered_ns; /* monotonic: of the last query of the consumer's info */
    bool asking;                   /* a query is under way */
    struct metric *m_pending;
};

void pool_stats_init(struct pool *p);
void pool_stats_init_queue(struct queue *q);
/* The pool is led from now on / is not led any more. */
void pool_stats_begin(struct pool *p);
void pool_stats_end(struct pool *p);
/* Once a second while the pool may hand over. */
void pool_stats_tick(struct pool *p);
/* An acknowledgement of a running attempt. */
void pool_stats_observe_ack(struct attempt *a, enum ack_kind kind);
/* The ack of an attempt that was superseded. */
void pool_stats_observe_superseded(struct pool *p, const struct superseded_ack *s);
/* A dead letter of a was written. */
void pool_stats_dead(const struct attempt *a);
/* Tasks of the pool that wait for their hand-off, in all its queues. */
int64_t pool_stats_pending(const struct pool *p);

#endif
