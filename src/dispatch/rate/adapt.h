/* The rate of a pool as it is now: brings the law (pace.h), what workers report (workers.h) and the
 * pool's token bucket together. Knows nothing of the pool itself: what it needs is passed in, or
 * borrowed for good by adapt_init. All times are monotonic. Loop lock. */
#ifndef AX_DISPATCH_RATE_ADAPT_H
#define AX_DISPATCH_RATE_ADAPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rate/bucket.h"
#include "bus/ack.h"
#include "dispatch/rate/pace.h"
#include "dispatch/rate/workers.h"
#include "stats/metrics.h"
#include "task/settings.h"

struct adapt_metrics {
    struct metric *limit, *normal, *reporting, *reports, *refused, *raised;
    struct metric *lowered[PACE_LOAD + 1]; /* by enum pace_why */
};

struct adapt {
    const char *pool;                /* its name, for logs and metrics */
    const struct settings *settings; /* the pool's, as they are now */
    struct bucket *bucket;           /* the pool's; its rate and burst are set here */
    struct pace pace;
    bool begun; /* pace has begun: since the pool is led, or since its rate adapts */
    struct workers workers;
    enum pace_why why;    /* of the last decrease */
    int direction;        /* last logged: 1 up, -1 down, 0 none */
    double logged_window; /* window when it was last compared for the log */
    struct adapt_metrics metrics;
};

/* Zeroed before. pool, settings and bucket are borrowed for good. */
void adapt_init(struct adapt *a, const char *pool, const struct settings *settings,
                struct bucket *bucket);
/* The pool is led from now on; its bucket is new and empty. */
void adapt_lead(struct adapt *a);
/* The pool is not led any more. */
void adapt_abandon(struct adapt *a);
/* The settings have changed. was_adaptive: whether the rate adapted before. ready: the pool may
 * hand over. */
void adapt_settings(struct adapt *a, bool was_adaptive, bool ready, int64_t now_ns);
/* The window has room for one more task. inflight: tasks handed over that have not ended. Called
 * before each hand-off: it is how the law learns that the window is used up. */
bool adapt_has_room(struct adapt *a, int64_t inflight, int64_t now_ns);
/* The window: tasks that may be in flight. 0: the rate does not adapt. */
int64_t adapt_limit(const struct adapt *a);
/* The window is used up. */
bool adapt_holds_back(const struct adapt *a, int64_t inflight);
/* Part of the workers' places that is taken, 0 … 1; -1: there are none. From reports, where the
 * workers that report have places for all that is running; else judged from with_workers (un-acked
 * tasks) and open (tasks that waiting pull requests may be granted). */
double adapt_busy(const struct adapt *a, int64_t with_workers, int64_t open);
/* A worker's acknowledgement of an attempt handed over at handed_ns (0: not known). */
void adapt_observe_ack(struct adapt *a, enum ack_kind kind, int64_t handed_ns, int64_t now_ns);
/* An attempt ended without an acknowledgement, or ran longer than it may. */
void adapt_timed_out(struct adapt *a);
/* A message on ax.worker.<pool>.<worker>. schema: its header Ax-Schema, NULL: none. What is no
 * report is counted and logged, and changes nothing. */
void adapt_report(struct adapt *a, const char *worker, const char *schema, const void *data,
                  size_t bytes, int64_t now_ns);
/* Once a second while the pool may hand over. most: most tasks that may be in flight whatever the
 * window says, >= 1; peak: most that were lately; paused: nothing is handed over. */
void adapt_tick(struct adapt *a, int64_t most, int64_t peak, bool paused, int64_t now_ns);

#endif
