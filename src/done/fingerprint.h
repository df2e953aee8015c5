/* A 64-bit hash of a task id under a secret seed: ids can be chosen by strangers, where they land
 * in a table cannot. */
#ifndef AX_DONE_FINGERPRINT_H
#define AX_DONE_FINGERPRINT_H

#include <stdint.h>

/* A seed that nobody else knows. */
uint64_t fingerprint_seed(void);
/* Never 0. */
uint64_t fingerprint_of(uint64_t seed, const char *id);

#endif
