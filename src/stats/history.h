/* What a few numbers (series) were over the last five minutes: a row of them every five seconds,
 * and the newest row. Counters are noted as they stand, so that what happened within a span of time
 * is the difference of two rows. Pure: the caller passes the time. Loop lock. */
#ifndef AX_STATS_HISTORY_H
#define AX_STATS_HISTORY_H

#include <stdint.h>

#define HISTORY_STEP_NS 5000000000LL
#define HISTORY_ROWS 61
#define HISTORY_SERIES 16

struct history_row {
    int64_t at_ns; /* monotonic */
    double value[HISTORY_SERIES];
};
/* Zero-initialise; again to forget everything. */
struct history {
    int count, first; /* rows[first] is the oldest */
    struct history_row rows[HISTORY_ROWS], newest;
};

/* Notes how the series stand now; NAN: not known. As often as wanted. now_ns: monotonic. */
void history_note(struct history *h, const double value[HISTORY_SERIES], int64_t now_ns);
/* How far back the rows reach, at most over_ns, give or take HISTORY_STEP_NS. */
int64_t history_reach_ns(const struct history *h, int64_t over_ns);
/* The newest value less the one over_ns before it; if that is not known, less the oldest one after
 * it that is. 0: the newest value is not known. series: 0 … HISTORY_SERIES - 1. */
double history_rise(const struct history *h, int series, int64_t over_ns);

#endif
