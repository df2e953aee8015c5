/* What a few figures were over the last five minutes: a row of them every five seconds and the
 * newest one. Counters are noted as they stand, so that what happened within any time is a
 * difference. Pure: the caller passes the time. Loop lock. */
#ifndef AX_STATS_HISTORY_H
#define AX_STATS_HISTORY_H

#include <stdint.h>

#define HISTORY_STEP_NS 5000000000LL
#define HISTORY_ROWS 61
#define HISTORY_SERIES 16

struct history_row {
    int64_t at_ns;
    double value[HISTORY_SERIES];
};
struct history {
    int count, first; /* rows[first] is the oldest */
    struct history_row rows[HISTORY_ROWS], newest;
};

/* Forgets everything; value is the first row. */
void history_begin(struct history *h, const double value[HISTORY_SERIES], int64_t now_ns);
/* How the figures stand now; NAN: not known. As often as wanted. */
void history_note(struct history *h, const double value[HISTORY_SERIES], int64_t now_ns);
/* How far back it reaches, at most over_ns (give or take a step). */
int64_t history_reach_ns(const struct history *h, int64_t over_ns);
/* Newest value less the one over_ns before, or the oldest there is that is known. 0: the newest one
 * is not known. */
double history_rise(const struct history *h, int series, int64_t over_ns);

#endif
