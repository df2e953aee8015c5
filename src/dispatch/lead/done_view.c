#include "dispatch/lead/done_view.h"

#include "base/log.h"

#define DAYS 7 /* at least as long as KV_AX_DONE keeps a record */
#define FILTER_ERROR 0.001
/* More tasks than finish between the loss of a queue message's ack and its redelivery; 6 to
 * 12 MB. */
#define RECENT_ENTRIES 500000
#define EXPIRE_EVERY_NS 600000000000LL

static struct metric *counter(const char *name, const char *help)
{
    return metrics_get(METRIC_COUNTER, name, help, "");
}

static struct metric *gauge(const char *name, const char *help)
{
    return metrics_get(METRIC_GAUGE, name, help, "");
}

ax_err done_view_init(struct done_view *v, int filter_entries)
{
    v->metrics.checks = counter("ax_filter_checks_total", "Look-ups in the Bloom filter.");
    v->metrics.saved = counter("ax_filter_reads_saved_total",
                               "Reads of AX_DONE that the filter saved.");
    v->metrics.false_positives = counter("ax_filter_false_positives_total",
                                         "Reads of AX_DONE that found nothing.");
    v->metrics.unreadable = counter("ax_dispatch_records_unreadable_total",
                                    "Messages of AX_DONE that hold no record AX can read.");
    v->metrics.filter_bytes = gauge("ax_filter_bytes", "Memory of the Bloom filter.");
    v->metrics.index_bytes = gauge("ax_index_bytes", "Memory of the index of pages.");
    ax_err err = filter_new(&v->filter, DAYS, filter_entries, FILTER_ERROR);
    if (err == AX_OK)
        err = batch_index_new(&v->batches, DAYS);
    if (err == AX_OK)
        err = batch_index_new_recent(&v->recent, RECENT_ENTRIES);
    return err;
}

void done_view_unreadable(struct done_view *v, const char *where, int64_t now_ns)
{
    static struct log_gate gate;
    char buf[160];
    metric_add(v->metrics.unreadable, 1);
    log_limited(&gate, now_ns, LOG_WARN, "record that cannot be read, counts as none", "at=%s",
                log_quote(where, buf, sizeof(buf)));
}

void done_view_tick(struct done_view *v, struct clock *clock, int64_t now_ns)
{
    struct filter_stats s;
    if (clock_is_set(clock) && now_ns - v->expired_ns >= EXPIRE_EVERY_NS) {
        v->expired_ns = now_ns;
        filter_expire(v->filter, clock_ax_ns(clock));
        batch_index_expire(v->batches, clock_ax_ns(clock));
    }
    filter_stats(v->filter, &s);
    metric_set(v->metrics.checks, (int64_t)s.checks);
    metric_set(v->metrics.saved, (int64_t)s.negatives);
    metric_set(v->metrics.false_positives, (int64_t)s.false_positives);
    metric_set(v->metrics.filter_bytes, (int64_t)s.bytes);
    metric_set(v->metrics.index_bytes,
               (int64_t)(batch_index_bytes(v->batches) + batch_index_bytes(v->recent)));
}
