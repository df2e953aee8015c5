/* What ingress holds of submissions, in bytes: bodies and headers, with a reply subject or without,
 * batches by what they unpack to, and what each costs beside. One pool takes at most as much as is
 * left free, so one that floods leaves half to others, two leave a third, and so on (dynamic
 * thresholds: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
 * switches", 1998). A pool may also be bounded in submissions a second. Lock of the loop held. */
#ifndef AX_INGRESS_DOOR_ACCOUNT_H
#define AX_INGRESS_DOOR_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct account;

enum account_verdict {
    ACCOUNT_TAKEN,
    ACCOUNT_FULL,      /* all pools together hold what they may */
    ACCOUNT_POOL_FULL, /* this pool holds as much as is left */
    ACCOUNT_TOO_FAST,  /* more submissions of this pool than its rate */
};

/* What one submission or batch holds. Zeroed: nothing. */
struct charge {
    struct account_pool *pool; /* borrowed from the account */
    int64_t bytes;
};

/* limit_bytes > 0. rate_per_s: of each pool; 0: any. AX_E_NOMEM. */
ax_err account_new(struct account **out, int64_t limit_bytes, int64_t rate_per_s);

/* Takes bytes (>= 0) for a pool and one of its rate into c, which must be zeroed. pool: n bytes,
 * whatever a sender wrote; as many as a name may have count. Whatever is asked for is taken when
 * nothing else is held. now_ns: monotonic. */
enum account_verdict account_take(struct account *a, const char *pool, size_t n, int64_t bytes,
                                  int64_t now_ns, struct charge *c);
/* c turned out to be so many bytes and submissions more. False: past the limit, and not taken. */
bool account_add(struct account *a, struct charge *c, int64_t bytes, int64_t submissions);
/* Gives back what c took, and zeroes it. */
void account_give(struct account *a, struct charge *c);

int64_t account_bytes(const struct account *a);

#endif
