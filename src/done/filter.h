/* "Was this task finished?": Bloom filters (libbloom) by day, so that old ids fall out. "No" is
 * certain and saves a read of the bucket; "maybe" is confirmed by one (docs/design/records.md).
 *
 * The filter of a day grows: when one is full, another of twice the size follows it, with half the
 * error rate. So the rate of the whole stays near the target, however many ids come (Almeida et
 * al.: "Scalable Bloom filters", 2007). Not thread-safe: the loop's lock. */
#ifndef AX_DONE_FILTER_H
#define AX_DONE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct filter;

struct filter_stats {
    uint64_t entries;         /* ids added, over all days kept */
    uint64_t generations;     /* days kept */
    uint64_t bytes;           /* memory of the bit arrays */
    uint64_t checks;          /* calls of filter_check */
    uint64_t negatives;       /* of them, those answered "no": reads saved */
    uint64_t maybes;          /* the others */
    uint64_t false_positives; /* of the maybes, those reported to filter_was_false */
};

/* days: how many days an id is kept, 1 to 31. first_entries: how many ids the first filter of a day
 * is made for, at least 1024. error: the error rate of that filter, 1e-6 to 0.1.
 * AX_E_INVALID, AX_E_NOMEM. The filter is the caller's. */
ax_err filter_new(struct filter **out, int days, int first_entries, double error);
/* f may be NULL. */
void filter_free(struct filter *f);
/* Adds id, of so many bytes, finished at ns (Unix epoch). One older than the window is ignored with
 * AX_OK. AX_E_NOMEM: the id is not stored, and filter_check answers "maybe" to every id until that
 * day has fallen out, so that its "no" stays certain. */
ax_err filter_add(struct filter *f, const void *id, size_t bytes, int64_t ns);
/* False: certainly not added within the window. */
bool filter_check(struct filter *f, const void *id, size_t bytes);
/* Counts a false positive: the read after a "maybe" found nothing. */
void filter_was_false(struct filter *f);
/* Drops the days that lie wholly before the window that ends at now_ns. */
void filter_expire(struct filter *f, int64_t now_ns);
void filter_stats(const struct filter *f, struct filter_stats *out);

#endif
