/* A set of task ids that can be taken out again, and that expire: the keyed tasks that wait in
 * AX_LATER or lie in AX_DEAD.
 *
 * Open addressing over 64-bit fingerprints: 16 bytes a slot, so 16 to 32 bytes an id, a million ids
 * in 32 MiB. It stands beside the Bloom filter (done/filter.h), which needs 2 to 4 bytes an id, but
 * cannot take an id out. It is no uthash, which would need 90 bytes an id with the fingerprint as
 * its key.
 *
 * "No" is certain. "Yes" is not quite: of n ids in the set, another one has the same fingerprint
 * with a chance of n / 2^64; the caller confirms it with a read. Not thread-safe: the loop's
 * lock. */
#ifndef AX_DONE_IDSET_H
#define AX_DONE_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct idset;

/* AX_E_NOMEM. The set is the caller's. */
ax_err idset_new(struct idset **out);
/* s may be NULL. */
void idset_free(struct idset *s);
/* Adds id, or moves its expiry later (never earlier). expires_s: Unix seconds; from then on
 * idset_has says no. UINT32_MAX: never. 0: nothing is added. AX_E_NOMEM: not added. */
ax_err idset_add(struct idset *s, const char *id, uint32_t expires_s);
/* now_s: Unix seconds. */
bool idset_has(const struct idset *s, const char *id, uint32_t now_s);
/* An id that is not in the set: nothing happens. */
void idset_remove(struct idset *s, const char *id);
/* Forgets the ids that have expired, and shrinks a table that is mostly empty. Costs one pass over
 * the table. */
void idset_expire(struct idset *s, uint32_t now_s);
/* The ids in the set, with those that have expired since the last idset_expire. */
size_t idset_count(const struct idset *s);
/* Memory of the set, in bytes. */
size_t idset_bytes(const struct idset *s);

#endif
