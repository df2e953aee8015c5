/* A pool's rate as it is now: the pool's side of pace.h (the law) and workers.h (what workers
 * report). Loop lock. */
#ifndef AX_DISPATCH_RATE_ADAPT_H
#define AX_DISPATCH_RATE_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/ack.h"
#include "dispatch/rate/pace.h"
#include "dispatch/rate/workers.h"
#include "stats/metrics.h"
#include "task/peer/report.h"

struct pool;
struct attempt;

struct adapt {
    struct pace pace;
    bool begun; /* since the pool is led, or since its rate adapts */
    struct workers workers;
    double errors;      /* reported since the round began */
    enum pace_why why;  /* of the last decrease */
    int direction;      /* last told in the log: 1 up, -1 down, 0 none */
    double told_window; /* window when it was last looked at for the log */
    struct metric *m_limit, *m_normal, *m_reporting, *m_reports, *m_refused, *m_raised;
    struct metric *m_lowered[PACE_LOAD + 1];
};

void adapt_init(struct pool *p);
/* The pool is led from now on (the bucket is new and empty), or not any more. */
void adapt_lead(struct pool *p);
void adapt_abandon(struct pool *p);
/* p->settings changed; was_adaptive: whether the rate adapted before. */
void adapt_settings(struct pool *p, bool was_adaptive);
/* One more may be in flight, by the consumer's max_ack_pending and by the window. */
bool adapt_has_room(struct pool *p);
/* Tasks that may be in flight; 0: the rate does not adapt. */
int64_t adapt_limit(const struct pool *p);
/* The window is used up. */
bool adapt_holds_back(const struct pool *p);
/* Part of the workers' places that is taken; -1: there are none. As they report it where those who
 * report account for what is running; else judged from what is in flight and what waiting pull
 * requests may be granted (demand). */
double adapt_busy(struct pool *p, int64_t demand);
/* A worker's receipt for a running attempt. */
void adapt_receipt(const struct attempt *r, enum ack_kind kind);
/* An attempt ended without a word, or ran longer than it may. */
void adapt_timed_out(struct pool *p);
/* A message on ax.worker.<pool>.<worker>. schema: its header Ax-Schema, NULL: none. */
void adapt_report(struct pool *p, const char *worker, const char *schema, const void *data,
                  size_t bytes);
/* Once a second while the pool may hand over. */
void adapt_tick(struct pool *p);

#endif
