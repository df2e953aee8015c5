#include "task/backoff.h"

#define JITTER 0.1

/* Jitter comes after the cap: otherwise retries that have all reached the cap would start
 * together. */
int64_t backoff_ms(uint32_t attempt, int64_t base_ms, int64_t cap_ms, double random)
{
    int64_t cap = cap_ms < 1 ? 1 : cap_ms, delay = base_ms < 1 ? 1 : base_ms;
    for (uint32_t i = 1; i < attempt && delay < cap; i++)
        delay = delay > cap / 2 ? cap : delay * 2;
    if (delay > cap)
        delay = cap;
    if (!(random >= 0)) {
        random = 0;
    } else if (random > 1) {
        random = 1;
    }
    double jittered = (double)delay * (1 - JITTER + 2 * JITTER * random);
    if (jittered >= 9e18)
        return INT64_MAX;
    return jittered < 1 ? 1 : (int64_t)jittered;
}
