/* "Have I seen this id?": Bloom filters (libbloom) in generations by day, so that old ids fall out
 * (docs/design.md). "No" is certain, "maybe" is not. A generation grows by chaining a filter twice
 * the size when it is full, so the false-positive rate stays near the target whatever comes. Not
 * thread-safe: loop lock. */
#ifndef AX_DONE_FILTER_H
#define AX_DONE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct filter;

struct filter_stats {
    uint64_t entries; /* adds, over all living generations */
    uint64_t generations;
    uint64_t bytes;     /* memory of the bit arrays */
    uint64_t checks;    /* filter_check calls */
    uint64_t negatives; /* "no": reads saved */
    uint64_t maybes;
    uint64_t false_positives; /* maybes that filter_was_false reported */
};

/* days: how many days an id is kept (1…31); first_entries: capacity of the first filter of a
 * generation (>= 1024); error: target rate of a generation's first filter (1e-6 … 0.1), halved for
 * each chained one. */
ax_err filter_new(struct filter **out, int days, int first_entries, double error);
void filter_free(struct filter *f);
/* Remembers id (bytes bytes) as seen at time ns (Unix epoch). Older than the window: ignored,
 * AX_OK. AX_E_NOMEM: a caller that relies on "no" must treat every id as maybe from here on;
 * filter_check does so by itself. */
ax_err filter_add(struct filter *f, const void *id, size_t bytes, int64_t ns);
/* False: certainly not added within the window. */
bool filter_check(struct filter *f, const void *id, size_t bytes);
/* The look-up after a maybe found nothing: counts a false positive. */
void filter_was_false(struct filter *f);
/* Drops generations wholly older than the window before now_ns. */
void filter_expire(struct filter *f, int64_t now_ns);
void filter_stats(const struct filter *f, struct filter_stats *out);

#endif
