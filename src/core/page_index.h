/* In which page of KV_AX_DONE the record of an id may be (core/record.h): 32-bit fingerprints in
 * tables by day, 9 to 12 bytes an id. Asked after the filter said maybe (core/filter.h); a page
 * that it names is read to be sure, so a fingerprint that two ids share costs a read and nothing
 * else. Not thread-safe: loop lock. */
#ifndef AX_CORE_PAGE_INDEX_H
#define AX_CORE_PAGE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "core/record.h"

struct page_index;

/* days: how many days a page is kept, 1…31. */
ax_err page_index_new(struct page_index **out, int days);
/* One that keeps the last `entries` ids at least, twice as many at most, whatever their age. */
ax_err page_index_new_recent(struct page_index **out, uint64_t entries);
void page_index_free(struct page_index *ix);
/* Page `name` holds these ids and was stored at ns (Unix epoch). Older than the window: ignored.
 * The same page again costs memory only. AX_E_NOMEM: some of its ids will not be found. */
ax_err page_index_add(struct page_index *ix, const struct page_name *name, const struct page *page,
                      int64_t ns);
/* Pages that may hold id, the newest first; returns how many, at most PAGE_CANDIDATES_MAX. */
#define PAGE_CANDIDATES_MAX 16
int page_index_find(const struct page_index *ix, const char *id,
                    struct page_name out[PAGE_CANDIDATES_MAX]);
/* Drops days wholly older than the window before now_ns. */
void page_index_expire(struct page_index *ix, int64_t now_ns);
uint64_t page_index_entries(const struct page_index *ix);
size_t page_index_bytes(const struct page_index *ix);

#endif
