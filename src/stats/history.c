#include "stats/history.h"

#include <math.h>
#include <string.h>

static const struct history_row *row(const struct history *h, int i)
{
    return &h->rows[(h->first + i) % HISTORY_ROWS];
}

/* Index, from the oldest row on, of the last row that is at least over_ns older than the newest
 * values; 0 when none is. */
static int ago(const struct history *h, int64_t over_ns)
{
    int i = h->count - 1;
    while (i > 0 && h->newest.at_ns - row(h, i)->at_ns < over_ns) {
        i--;
    }
    return i;
}

static void push(struct history *h)
{
    if (h->count == HISTORY_ROWS) {
        h->first = (h->first + 1) % HISTORY_ROWS;
        h->count--;
    }
    h->rows[(h->first + h->count) % HISTORY_ROWS] = h->newest;
    h->count++;
}

void history_note(struct history *h, const double value[HISTORY_SERIES], int64_t now_ns)
{
    h->newest.at_ns = now_ns;
    memcpy(h->newest.value, value, sizeof(h->newest.value));
    if (h->count == 0 || now_ns - row(h, h->count - 1)->at_ns >= HISTORY_STEP_NS) {
        push(h);
    }
}

int64_t history_reach_ns(const struct history *h, int64_t over_ns)
{
    return h->count == 0 ? 0 : h->newest.at_ns - row(h, ago(h, over_ns))->at_ns;
}

double history_rise(const struct history *h, int series, int64_t over_ns)
{
    double newest = h->newest.value[series];
    for (int i = h->count > 0 ? ago(h, over_ns) : 0; i < h->count && !isnan(newest); i++) {
        double older = row(h, i)->value[series];
        if (!isnan(older)) {
            return newest - older;
        }
    }
    return 0;
}
