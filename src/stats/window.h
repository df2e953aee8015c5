/* How long things took lately: quantiles of durations over the last one or two spans of time. The
 * buckets are log-linear as in HdrHistogram (Gil Tene), eight to an octave, so a quantile is off by
 * 12 % at most. Two sets of buckets take turns: one is filled for a span, the other holds the span
 * before. Pure: the caller passes the time (monotonic). Loop lock. */
#ifndef AX_STATS_WINDOW_H
#define AX_STATS_WINDOW_H

#include <stdint.h>

/* Up to 2^31 units of 100 µs, which is two days; what took longer is in the last bucket. */
#define WINDOW_BUCKETS 232

struct window {
    int64_t span_ns;
    int64_t began_ns; /* when `filling` began to be filled */
    uint32_t filling[WINDOW_BUCKETS], full[WINDOW_BUCKETS];
};

/* Empties it. span_ns > 0: what is observed is forgotten one to two spans later. */
void window_init(struct window *w, int64_t span_ns, int64_t now_ns);
/* Adds one duration; a negative one counts as 0. */
void window_observe(struct window *w, int64_t ns, int64_t now_ns);
/* How many durations it holds. */
int64_t window_count(struct window *w, int64_t now_ns);
/* The duration below which the fraction q (0 … 1) of them lies. -1: it holds none. */
int64_t window_quantile_ns(struct window *w, double q, int64_t now_ns);

#endif
