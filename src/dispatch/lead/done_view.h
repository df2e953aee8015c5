/* What this dispatcher knows of KV_AX_DONE, the bucket with the record of every finished task
 * (docs/design/records.md): a Bloom filter of the ids, and where to find the record of an id
 * that the filter may hold. catch_up.c fills it from the bucket; record_writer.c adds what this
 * process records itself. Loop lock. */
#ifndef AX_DISPATCH_LEAD_DONE_VIEW_H
#define AX_DISPATCH_LEAD_DONE_VIEW_H

#include "base/clock.h"
#include "base/error.h"
#include "done/batch_index.h"
#include "done/filter.h"
#include "stats/metrics.h"

/* All pointers are owned and live as long as the process. */
struct done_view {
    struct filter *filter;       /* ids with a record */
    struct batch_index *batches; /* those of them whose record is in a batch */
    /* The last tasks without a key. They are not in the filter: only a redelivery of their own
     * queue message can repeat them, and that comes soon. */
    struct batch_index *recent;
    int64_t expired_ns; /* monotonic: when what is too old was last dropped */
    struct {
        struct metric *checks, *saved, *false_positives, *filter_bytes, *index_bytes;
        struct metric *unreadable;
    } metrics;
};

/* Zero-initialised before. Makes it, empty. filter_entries: ids a day at which the filter starts
 * (it grows). AX_E_NOMEM. */
ax_err done_view_init(struct done_view *v, int filter_entries);
/* What should hold a record cannot be read, and counts as none: counted, and logged at most once a
 * minute. where: its subject, or the task whose record it should be. now_ns: monotonic. */
void done_view_unreadable(struct done_view *v, const char *where, int64_t now_ns);
/* To be called about once a second: brings the metrics up to date, and every ten minutes drops what
 * is older than the bucket keeps. now_ns: monotonic. */
void done_view_tick(struct done_view *v, struct clock *clock, int64_t now_ns);

#endif
