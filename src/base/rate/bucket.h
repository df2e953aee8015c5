/* Token bucket (as in RFC 2697's single rate meter, with a continuous refill): at most burst +
 * rate·t starts in any window of t seconds. The caller passes the time; nothing here reads a clock.
 * Not thread-safe: loop lock. */
#ifndef AX_BASE_RATE_BUCKET_H
#define AX_BASE_RATE_BUCKET_H

#include <stdint.h>

struct bucket {
    double rate_per_s; /* 0: unlimited */
    double burst;      /* >= 1 */
    double tokens;     /* 0 … burst */
    int64_t last_ns;   /* monotonic time of the last refill */
};

/* Starts empty, as the bucket of a new leader must (docs/design/dispatching.md). rate_per_s >= 0,
 * burst >= 1. now_ns, here and below: monotonic. */
void bucket_init(struct bucket *b, double rate_per_s, double burst, int64_t now_ns);
/* Changes rate and burst; the tokens saved up so far stay, at most the new burst. */
void bucket_set(struct bucket *b, double rate_per_s, double burst, int64_t now_ns);
/* Whole tokens that can be taken now; INT64_MAX when unlimited. */
int64_t bucket_available(struct bucket *b, int64_t now_ns);
/* Takes one. Returns 1, or 0 when there is none. */
int bucket_take(struct bucket *b, int64_t now_ns);
/* Gives a token back that was not used (a duplicate was dropped). Never above burst. */
void bucket_return(struct bucket *b);
/* Nanoseconds until a token can be taken; 0: now. */
int64_t bucket_wait_ns(struct bucket *b, int64_t now_ns);

#endif
