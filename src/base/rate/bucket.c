#include "base/rate/bucket.h"

#include <math.h>

/* The number of tokens is stored only when one is taken or the rate changes; in between it is
 * computed from the time since then. So reading it often adds no rounding error, and the stored
 * number is off by half an ulp per token taken: a hundred million starts with a burst of a million
 * are off by less than a hundredth of a token.
 *
 * A token given back (bucket_return) may have been replaced by refill while it was out, so the
 * bound holds for starts counted at the time their token was taken. unanswered.h bounds them by the
 * time when they are stored. */

/* Tokens at now_ns. A time before the last refill counts as the last refill, so no time is counted
 * twice. */
static double tokens_at(const struct bucket *b, int64_t now_ns)
{
    int64_t passed_ns;
    if (__builtin_sub_overflow(now_ns, b->last_ns, &passed_ns)) {
        passed_ns = now_ns > b->last_ns ? INT64_MAX : 0;
    }
    return fmin(b->burst,
                b->tokens + b->rate_per_s * (passed_ns > 0 ? (double)passed_ns / 1e9 : 0));
}

static void settle(struct bucket *b, int64_t now_ns)
{
    b->tokens = tokens_at(b, now_ns);
    if (now_ns > b->last_ns) {
        b->last_ns = now_ns;
    }
}

void bucket_init(struct bucket *b, double rate_per_s, double burst, int64_t now_ns)
{
    *b = (struct bucket){.rate_per_s = rate_per_s, .burst = burst, .tokens = 0, .last_ns = now_ns};
}

void bucket_set(struct bucket *b, double rate_per_s, double burst, int64_t now_ns)
{
    settle(b, now_ns);
    if (b->rate_per_s == 0) {
        b->tokens = 0; /* starts without limit until now have saved up nothing */
    }
    b->rate_per_s = rate_per_s;
    b->burst = burst;
    b->tokens = fmin(b->tokens, burst);
}

int64_t bucket_available(struct bucket *b, int64_t now_ns)
{
    return b->rate_per_s == 0 ? INT64_MAX : (int64_t)tokens_at(b, now_ns);
}

int bucket_take(struct bucket *b, int64_t now_ns)
{
    if (b->rate_per_s == 0) {
        return 1;
    }
    if (tokens_at(b, now_ns) < 1) {
        return 0;
    }
    settle(b, now_ns);
    b->tokens -= 1;
    return 1;
}

void bucket_return(struct bucket *b)
{
    if (b->rate_per_s != 0) {
        b->tokens = fmin(b->burst, b->tokens + 1);
    }
}

int64_t bucket_wait_ns(struct bucket *b, int64_t now_ns)
{
    if (b->rate_per_s == 0) {
        return 0;
    }
    double missing = 1 - tokens_at(b, now_ns);
    if (missing <= 0) {
        return 0;
    }
    double lag_ns = now_ns < b->last_ns ? (double)b->last_ns - (double)now_ns : 0;
    double wait_ns = ceil(missing / b->rate_per_s * 1e9) + lag_ns;
    if (wait_ns >= 9e18 || (now_ns > 0 && wait_ns >= 9.2e18 - (double)now_ns)) {
        return INT64_MAX;
    }
    /* rounding must not wake the caller one nanosecond too early, to find nothing and ask again */
    int64_t wait = wait_ns < 1 ? 1 : (int64_t)wait_ns;
    for (int64_t step = 1; tokens_at(b, now_ns + wait) < 1 && step < 1 << 20; step *= 2) {
        wait += step;
    }
    return wait;
}
