#include "stats/window.h"

#include <string.h>

#define UNIT_NS 100000LL
#define LINEAR 8 /* buckets of one unit, then eight to an octave */

static int bucket_of(int64_t ns)
{
    uint64_t units = ns > 0 ? (uint64_t)ns / UNIT_NS : 0;
    if (units < LINEAR) {
        return (int)units;
    }
    int octave = 63 - __builtin_clzll(units); /* >= 3 */
    int i = (octave - 2) * LINEAR + (int)((units >> (octave - 3)) & (LINEAR - 1));
    return i < WINDOW_BUCKETS ? i : WINDOW_BUCKETS - 1;
}

/* Where bucket i begins. */
static double begin_ns(int i)
{
    if (i < 2 * LINEAR) {
        return (double)(i * UNIT_NS);
    }
    int octave = i / LINEAR + 2;
    return (double)((uint64_t)(LINEAR + i % LINEAR) << (octave - 3)) * UNIT_NS;
}

/* Lets the two sets take turns when a span has passed. */
static void turn(struct window *w, int64_t now_ns)
{
    int64_t passed = now_ns - w->began_ns;
    if (passed < w->span_ns) {
        return;
    }
    if (passed < 2 * w->span_ns) {
        memcpy(w->full, w->filling, sizeof(w->full));
        w->began_ns += w->span_ns;
    } else {
        memset(w->full, 0, sizeof(w->full));
        w->began_ns = now_ns;
    }
    memset(w->filling, 0, sizeof(w->filling));
}

void window_init(struct window *w, int64_t span_ns, int64_t now_ns)
{
    memset(w, 0, sizeof(*w));
    w->span_ns = span_ns;
    w->began_ns = now_ns;
}

void window_observe(struct window *w, int64_t ns, int64_t now_ns)
{
    turn(w, now_ns);
    w->filling[bucket_of(ns)]++;
}

int64_t window_count(struct window *w, int64_t now_ns)
{
    int64_t total = 0;
    turn(w, now_ns);
    for (int i = 0; i < WINDOW_BUCKETS; i++) {
        total += (int64_t)w->filling[i] + w->full[i];
    }
    return total;
}

int64_t window_quantile_ns(struct window *w, double q, int64_t now_ns)
{
    int64_t total = window_count(w, now_ns), below = 0;
    if (total == 0) {
        return -1;
    }
    double wanted = q * (double)total;
    for (int i = 0; i < WINDOW_BUCKETS; i++) {
        int64_t here = (int64_t)w->filling[i] + w->full[i];
        if (here > 0 && (double)(below + here) >= wanted) {
            double part = (wanted - (double)below) / (double)here;
            return (int64_t)(begin_ns(i) + (part > 0 ? part : 0) * (begin_ns(i + 1) - begin_ns(i)));
        }
        below += here;
    }
    return (int64_t)begin_ns(WINDOW_BUCKETS);
}
