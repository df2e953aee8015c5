/* A 64-bit hash of a task id under a secret seed. Clients choose ids; without the seed they cannot
 * choose ids that collide in a table. Any thread. */
#ifndef AX_DONE_FINGERPRINT_H
#define AX_DONE_FINGERPRINT_H

#include <stdint.h>

/* A new random seed: one for each table. */
uint64_t fingerprint_seed(void);
/* The hash of id (NUL-terminated, of any length). Never 0, so that 0 can mark an empty slot.
 * Source: eight bytes at a time through the finalizer of SplitMix64 (Steele, Lea, Flood: "Fast
 * splittable pseudorandom number generators", 2014). */
uint64_t fingerprint_of(uint64_t seed, const char *id);

#endif
