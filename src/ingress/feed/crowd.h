/* Which pools crowd a feeder's window. A feeder holds a few hundred messages; those of a pool that
 * may not go into the queue now would fill it, and other pools' would never be seen. So a pool that
 * has been held up for a while keeps as many in the window as it lately fed in half a second, and a
 * few; the others are given back, each for a time of its own, so that they return evenly. Pure; the
 * caller passes the time (monotonic). */
#ifndef AX_INGRESS_FEED_CROWD_H
#define AX_INGRESS_FEED_CROWD_H

#include <stdbool.h>
#include <stdint.h>

struct crowd;
struct crowd_pool;

/* NULL: no memory. */
struct crowd *crowd_new(void);

/* A message of pool came into the window. NULL: no memory; then it counts for nobody, and NULL may
 * be given to the functions below. */
struct crowd_pool *crowd_enter(struct crowd *c, const char *pool);
/* It left the window: fed into the queue, or not. */
void crowd_leave(struct crowd_pool *p, bool fed);
/* A message of p may not go into the queue now. */
void crowd_held_up(struct crowd_pool *p, int64_t now_ns);
/* p has been held up for a while, and has more in the window than it may. */
bool crowd_is_too_large(const struct crowd_pool *p, int64_t now_ns);
/* For how long one of p's messages is given back, in ms, at least 1000. */
int64_t crowd_return_ms(struct crowd_pool *p, int64_t now_ns);
/* To be called every CROWD_TICK_MS while the window is not empty. Forgets pools. */
void crowd_tick(struct crowd *c, int64_t now_ns);

#define CROWD_TICK_MS 100

#endif
