/* In which page of KV_AX_DONE the record of an id may be (done/record.h): 32-bit fingerprints in
 * tables by day, 9 to 12 bytes an id. Asked after the filter said maybe (done/filter.h); a page
 * that it names is read to be sure, so a fingerprint that two ids share costs a read and nothing
 * else. Not thread-safe: loop lock. */
#ifndef AX_DONE_BATCH_INDEX_H
#define AX_DONE_BATCH_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "done/record.h"

struct batch_index;

/* days: how many days a page is kept, 1…31. */
ax_err batch_index_new(struct batch_index **out, int days);
/* One that keeps the last `entries` ids at least, twice as many at most, whatever their age. */
ax_err batch_index_new_recent(struct batch_index **out, uint64_t entries);
void batch_index_free(struct batch_index *ix);
/* Page `name` holds these ids and was stored at ns (Unix epoch). Older than the window: ignored.
 * The same page again costs memory only. AX_E_NOMEM: some of its ids will not be found. */
ax_err batch_index_add(struct batch_index *ix, const struct record_batch_name *name,
                       const struct record_batch *page, int64_t ns);
/* Pages that may hold id, the newest first; returns how many, at most RECORD_BATCH_CANDIDATES_MAX.
 */
#define RECORD_BATCH_CANDIDATES_MAX 16
int batch_index_find(const struct batch_index *ix, const char *id,
                     struct record_batch_name out[RECORD_BATCH_CANDIDATES_MAX]);
/* Drops days wholly older than the window before now_ns. */
void batch_index_expire(struct batch_index *ix, int64_t now_ns);
uint64_t batch_index_entries(const struct batch_index *ix);
size_t batch_index_bytes(const struct batch_index *ix);

#endif
