#include "ingress/counters.h"

#include <stdio.h>

const char *counters_state_text(enum state s)
{
    static const char *const texts[] = {
#define X(name, text) text,
        STATES(X)
#undef X
    };
    return texts[s];
}

static struct metric *counter(const char *name, const char *help)
{
    return metrics_get(METRIC_COUNTER, name, help, "");
}

static struct metric *gauge(const char *name, const char *help)
{
    return metrics_get(METRIC_GAUGE, name, help, "");
}

static void register_labelled(struct counters *c)
{
    static const char *const refusals[] = {
#define X(name, text) text,
        REFUSALS(X)
#undef X
    };
    char labels[64];
    for (int i = 0; i < REFUSAL_COUNT; i++) {
        snprintf(labels, sizeof(labels), "reason=\"%s\"", refusals[i]);
        c->refused[i] = metrics_get(METRIC_COUNTER, "ax_ingress_refused_total",
                                    "Submissions not taken, by reason", labels);
        c->memory.dropped[i] = metrics_get(
            METRIC_COUNTER, "ax_ingress_dropped_total",
            "Submissions without reply subject that were not kept, by reason", labels);
    }
    for (int i = 0; i < STATE_COUNT; i++) {
        snprintf(labels, sizeof(labels), "state=\"%s\"", counters_state_text((enum state)i));
        c->duplicates[i] = metrics_get(METRIC_COUNTER, "ax_ingress_duplicates_total",
                                       "Submissions with a known key, by the state the task was in",
                                       labels);
    }
}

static void register_later(struct counters *c)
{
    c->later_ids = gauge("ax_ingress_later_ids", "Keyed ids believed to wait in AX_LATER");
    c->later.tasks = gauge("ax_ingress_later_tasks",
                           "Messages in AX_LATER, as last read and added since");
    c->later.limit = gauge("ax_ingress_later_limit_tasks", "Bound of AX_LATER");
    c->later.bytes = gauge("ax_ingress_later_bytes", "Bytes in AX_LATER, as last heard");
    c->later.bytes_limit = gauge("ax_ingress_later_limit_bytes", "Bound of AX_LATER in bytes");
    c->later.schedules = gauge("ax_ingress_schedules", "Recurring tasks in AX_LATER");
    c->later.schedules_limit = gauge("ax_ingress_schedules_limit", "Bound of recurring tasks");
    c->later.swept = counter("ax_ingress_later_swept_total",
                             "Messages of AX_LATER that no queue would get, made dead letters");
}

void counters_register(struct counters *c)
{
    register_labelled(c);
    c->accepted_later = counter("ax_ingress_delayed_total", "Submissions stored for later");
    c->cron.fired = counter("ax_ingress_cron_fired_total",
                            "Firings of recurring tasks brought into their queue");
    c->cron.skipped = counter(
        "ax_ingress_cron_skipped_total",
        "Firings of recurring tasks skipped because the last one was unfinished");
    c->batches = counter("ax_ingress_batches_total", "Messages that carried a batch of tasks");
    c->unknown = counter("ax_ingress_unknown_total",
                         "Submissions answered \"unknown\" because JetStream was silent");
    c->buried = counter("ax_ingress_buried_total",
                        "Submissions without reply subject that became dead letters");
    c->in_flight = gauge("ax_ingress_working", "Submissions in flight");
    c->deferred = gauge("ax_ingress_parked",
                        "Submissions that wait for room in the pipeline or for a retry");
    c->gaps = counter("ax_ingress_gaps_total",
                      "Stretches of a stream that were not observed and read again");
    c->filter_checks = counter("ax_ingress_filter_checks_total",
                               "Keys looked up in the Bloom filter");
    c->filter_negatives = counter("ax_ingress_filter_negatives_total",
                                  "Look-ups that needed no read");
    c->filter_false_positives = counter("ax_ingress_filter_false_positives_total",
                                        "Look-ups that read and found no record");
    c->filter_entries = gauge("ax_ingress_filter_entries", "Ids in the Bloom filter");
    c->filter_bytes = gauge("ax_ingress_filter_bytes", "Memory of the Bloom filter");
    c->index_entries = gauge("ax_ingress_index_entries", "Ids in the index of pages");
    c->index_bytes = gauge("ax_ingress_index_bytes", "Memory of the index of pages");
    register_later(c);
    c->memory.dead_bytes = gauge("ax_ingress_dead_bytes", "Bytes in AX_DEAD, as last heard");
    c->memory.dead_bytes_limit = gauge("ax_ingress_dead_limit_bytes",
                                       "Bound of it for submissions without reply subject");
    c->memory.bytes = gauge("ax_ingress_memory_bytes", "Memory that submissions in flight hold");
    c->memory.bytes_limit = gauge("ax_ingress_memory_limit_bytes", "Bound of it (--max-memory)");
    c->memory.floods = counter("ax_ingress_floods_total",
                               "Times that more submissions came than could be read");
    c->memory.flooded = gauge("ax_ingress_flooded",
                              "1 while the server may send no more submissions than are read");
    c->foreign = counter("ax_ingress_foreign_total",
                         "Queue messages that no pool served and that became dead letters");
    c->pools = gauge("ax_ingress_pools", "Pools that have an entry, or that a new task names");
    c->pools_limit = gauge("ax_ingress_pools_limit",
                           "Pools up to which a task of an unknown one adds it (--max-pools)");
    c->dead_ids = gauge("ax_ingress_dead_ids", "Keyed ids believed to lie in AX_DEAD");
}
