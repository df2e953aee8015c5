/* Which record batch may hold the record of an id (done/record_batch.h): 32-bit fingerprints in
 * tables by day, 9 to 12 bytes an id.
 *
 * It stands beside the Bloom filter, which is asked first: for an id that was never seen, over
 * seven days and four million ids, the filter takes 1 µs and the index 15 µs. The filter cannot
 * name a batch; without the index, every batch of the window would have to be read. A batch that
 * the index names is read to be sure, so two ids with the same fingerprint cost a read and nothing
 * else. Not thread-safe: the loop's lock. */
#ifndef AX_DONE_BATCH_INDEX_H
#define AX_DONE_BATCH_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "done/record_batch.h"

struct batch_index;

/* days: how many days a batch is kept, 1 to 31. AX_E_INVALID, AX_E_NOMEM. The index is the
 * caller's. */
ax_err batch_index_new(struct batch_index **out, int days);
/* An index of the last ids, whatever their age: at least `entries` (1 and up), at most twice as
 * many. AX_E_INVALID, AX_E_NOMEM. */
ax_err batch_index_new_recent(struct batch_index **out, uint64_t entries);
/* ix may be NULL. */
void batch_index_free(struct batch_index *ix);
/* The batch of that name holds these ids and was stored at ns (Unix epoch). One older than the
 * window is ignored with AX_OK. The same batch added again costs memory, nothing else.
 * AX_E_NOMEM: some of its ids will not be found. */
ax_err batch_index_add(struct batch_index *ix, const struct record_batch_name *name,
                       const struct record_batch *batch, int64_t ns);
#define BATCH_INDEX_FOUND_MAX 16
/* Writes the batches that may hold id, the newest first; returns how many. */
int batch_index_find(const struct batch_index *ix, const char *id,
                     struct record_batch_name out[BATCH_INDEX_FOUND_MAX]);
/* Drops the days that lie wholly before the window that ends at now_ns. */
void batch_index_expire(struct batch_index *ix, int64_t now_ns);
/* How many ids it holds; one that was added twice counts twice. */
uint64_t batch_index_entries(const struct batch_index *ix);
/* Memory of the index, in bytes. */
size_t batch_index_bytes(const struct batch_index *ix);

#endif
