/* How long things took lately: quantiles over the last one or two spans. Log-linear buckets as in
 * HdrHistogram (Gil Tene), eight to an octave, so that a quantile is off by 12 % at most; two
 * halves that take turns. Pure: the caller passes the time. Loop lock. */
#ifndef AX_STATS_WINDOW_H
#define AX_STATS_WINDOW_H

#include <stdint.h>

#define WINDOW_BUCKETS \
    232 /* up to 2^31 units of 100 µs, two days; what is longer is in the last one */

struct window {
    int64_t span_ns, began_ns; /* of the half that is being filled */
    uint32_t filling[WINDOW_BUCKETS], full[WINDOW_BUCKETS];
};

/* Zeroed and empty. span_ns > 0: what was observed is forgotten one to two spans later. */
void window_init(struct window *w, int64_t span_ns, int64_t now_ns);
/* One duration; negative counts as none. */
void window_observe(struct window *w, int64_t ns, int64_t now_ns);
/* How many there are. */
int64_t window_count(struct window *w, int64_t now_ns);
/* The duration below which the fraction q (0 … 1) of them lies. -1: there are none. */
int64_t window_quantile_ns(struct window *w, double q, int64_t now_ns);

#endif
