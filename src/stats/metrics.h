/* Counters, gauges and histograms of a daemon, written as Prometheus text. Labels such as pools are
 * known at run time only, so a metric is registered when it is first wanted; from then on it is
 * updated through its handle, with one atomic operation. Any thread. */
#ifndef AX_STATS_METRICS_H
#define AX_STATS_METRICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric_kind {
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_REAL, /* a gauge of a real number: metric_set_real */
    METRIC_HISTOGRAM,
};

struct metric {
    const char *name;   /* "ax_submitted_total" */
    const char *labels; /* "" or "priority=\"high\",pool=\"email\"" (owned) */
    const char *help;
    enum metric_kind kind;
    /* histogram: how many were observed; METRIC_REAL: the bits of a double */
    _Atomic int64_t value;
    atomic_bool hidden;             /* its value is not known now: left out of the text */
    struct metric_buckets *buckets; /* of a histogram */
};

/* The metric of this name and these labels, registered if it is new. name and help are borrowed for
 * good, labels is copied; its values must need no escapes (names of pools and priorities do not).
 * Never NULL: without memory it returns a shared dummy that nobody reads. The metric lives as long
 * as the process. */
struct metric *metrics_get(enum metric_kind kind, const char *name, const char *help,
                           const char *labels);
static inline void metric_add(struct metric *m, int64_t n)
{
    atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}
static inline void metric_set(struct metric *m, int64_t v)
{
    atomic_store_explicit(&m->value, v, memory_order_relaxed);
}
/* Of a METRIC_REAL. */
void metric_set_real(struct metric *m, double v);
/* true: leaves a gauge out of the text whose value is not known here, such as one of a pool that
 * another dispatcher leads. false: shows it again. */
static inline void metric_hide(struct metric *m, bool hidden)
{
    atomic_store_explicit(&m->hidden, hidden, memory_order_relaxed);
}
/* metric_hide for every metric that has this label among its own: pool="email". */
void metrics_hide_labelled(const char *label, bool hidden);
static inline int64_t metric_value(struct metric *m)
{
    return atomic_load_explicit(&m->value, memory_order_relaxed);
}

/* Adds one duration to a histogram. Its buckets end at 1 ms … 1 h, two or three to a power of
 * ten. */
void metric_observe_ns(struct metric *m, int64_t ns);
/* Prometheus text of everything registered, grouped by name; caller frees. NULL: out of memory. */
char *metrics_text(size_t *bytes);

#endif
