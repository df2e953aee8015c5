/* A set of task ids that wait somewhere (AX_LATER) or lie dead (AX_DEAD): open addressing over
 * 64-bit fingerprints with an expiry, 16 bytes a slot, so that a million ids stay at 32 MiB.
 * Answers "maybe" (two ids share a fingerprint once in 2^64 / n); the caller confirms with a read.
 * Not thread-safe: loop lock. */
#ifndef AX_DONE_IDSET_H
#define AX_DONE_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct idset;

ax_err idset_new(struct idset **out);
void idset_free(struct idset *s);
/* Adds id or moves its expiry later. expires_s: Unix seconds after which the id is forgotten. */
ax_err idset_add(struct idset *s, const char *id, uint32_t expires_s);
bool idset_has(const struct idset *s, const char *id, uint32_t now_s);
void idset_remove(struct idset *s, const char *id);
/* Forgets expired ids and shrinks when mostly empty. Cost: one pass over the table. */
void idset_expire(struct idset *s, uint32_t now_s);
size_t idset_count(const struct idset *s);
size_t idset_bytes(const struct idset *s);

#endif
