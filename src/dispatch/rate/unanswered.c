#include "dispatch/rate/unanswered.h"

#include <math.h>

#define USUAL_MIN_NS 25000000LL /* how long an answer to a hand-off may well take */

static double capacity(const struct bucket *b, int64_t usual_ns)
{
    double under_way = 2 * b->rate_per_s * (double)usual_ns / 1e9;
    return fmax(b->burst + b->rate_per_s * (double)USUAL_MIN_NS / 1e9, under_way);
}

static void settle(struct unanswered *u, const struct bucket *b, int64_t usual_ns, int64_t now_ns)
{
    double passed_s = now_ns > u->last_ns ? ((double)now_ns - (double)u->last_ns) / 1e9 : 0;
    double rate_per_s = fmax(b->rate_per_s, u->rate_per_s); /* when it changed is not known here */
    /* starts without limit use none, and save none up */
    u->tokens = b->rate_per_s == 0 ? 0
                                   : fmin(capacity(b, usual_ns), u->tokens + rate_per_s * passed_s);
    u->rate_per_s = b->rate_per_s;
    if (now_ns > u->last_ns)
        u->last_ns = now_ns;
}

void unanswered_init(struct unanswered *u, int64_t now_ns)
{
    *u = (struct unanswered){.count = u->count, .last_ns = now_ns};
}

bool unanswered_are_due(struct unanswered *u, const struct bucket *b, int64_t usual_ns,
                        int64_t now_ns)
{
    settle(u, b, usual_ns, now_ns);
    u->waits = b->rate_per_s != 0 && u->tokens - (double)u->count < 1;
    return u->waits;
}

int64_t unanswered_wait_ns(const struct unanswered *u, const struct bucket *b, int64_t usual_ns)
{
    double wanted = (double)u->count + 1;
    if (b->rate_per_s == 0)
        return 0;
    if (wanted > capacity(b, usual_ns))
        return INT64_MAX;
    double wait_ns = ceil((wanted - u->tokens) / b->rate_per_s * 1e9) + 1;
    return wait_ns < 1 ? 1 : wait_ns >= 9e18 ? INT64_MAX : (int64_t)wait_ns;
}

void unanswered_used(struct unanswered *u, const struct bucket *b, int64_t usual_ns, int64_t now_ns)
{
    settle(u, b, usual_ns, now_ns);
    u->count--;
    u->tokens = fmax(0, u->tokens - 1); /* those begun without limit have reserved none */
}
