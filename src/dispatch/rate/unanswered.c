#include "dispatch/rate/unanswered.h"

#include <math.h>

#define USUAL_MIN_NS 25000000LL /* how long an answer to a hand-off may well take */

bool unanswered_are_due(struct unanswered *u, struct bucket *b, int64_t usual_ns, int64_t now_ns)
{
    double usual_s = (double)(usual_ns > USUAL_MIN_NS ? usual_ns : USUAL_MIN_NS) / 1e9;
    bool due = b->rate_per_s != 0 &&
               (double)u->count >= fmax(b->burst, 2 * usual_s * b->rate_per_s);
    if (due && u->since_ns == 0)
        u->since_ns = now_ns;
    if (!due && u->since_ns != 0) {
        bucket_hold(b, u->since_ns, now_ns);
        u->since_ns = 0;
    }
    return due;
}
