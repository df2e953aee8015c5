/* Exponential backoff: base × 2^(attempt-1), capped, ±10% jitter (docs/design/time.md, "Delays
 * and retries"). Pure. */
#ifndef AX_TASK_BACKOFF_H
#define AX_TASK_BACKOFF_H

#include <stdint.h>

#define BACKOFF_BASE_MS 30000
#define BACKOFF_CAP_MS 3600000

/* attempt: the attempt that failed, 1…; base_ms >= 1; cap_ms >= base_ms not required (the smaller
 * wins). random: uniform in [0,1), supplied by the caller. Never overflows, never below 1. Result
 * in ms. */
int64_t backoff_ms(uint32_t attempt, int64_t base_ms, int64_t cap_ms, double random);

#endif
