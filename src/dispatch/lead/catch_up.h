/* Reading KV_AX_DONE into the dispatcher's view of it (done_view.h). The bucket is read from its
 * beginning at start. What other dispatchers record later is read when this one takes over a pool,
 * and every five seconds while there are others, so that little is left to read at a takeover. No
 * task of the pool starts before that reading has ended: until then a record may exist that the
 * view does not have (docs/design/leadership.md). Loop lock. */
#ifndef AX_DISPATCH_LEAD_CATCH_UP_H
#define AX_DISPATCH_LEAD_CATCH_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct catch_up_waiter;
struct dispatch;
struct pool;

/* Zero-initialise. */
struct catch_up {
    bool reading;
    uint64_t next_seq; /* of KV_AX_DONE: where the next reading begins; 0: at the first message */
    uint64_t started, wanted, done;  /* readings, counted */
    int64_t end_ns;                  /* monotonic: end of the last reading */
    struct catch_up_waiter *waiters; /* in the order of the readings that they wait for */
};

/* Reads the bucket from where the last reading ended. Returns the number of the reading that has
 * all that is stored now: when catch_up_done has reached it, a "no" of the filter is certain. */
uint64_t catch_up_begin(struct dispatch *d);
/* The number of the last reading that has ended; 0: none has. */
uint64_t catch_up_done(const struct dispatch *d);
/* Calls cb once, when all that is stored now has been read. Waiters share readings: each is called
 * after one reading or two. AX_E_NOMEM: cb will not be called. arg is borrowed until then. */
ax_err catch_up_when_done(struct dispatch *d, void (*cb)(void *arg), void *arg);
/* Every record that counts for this pool has been read. */
bool catch_up_suffices(const struct pool *p);
/* To be called often, at least once a second. Reads what could not be read before, and, while
 * there are other dispatchers, now and then what they have recorded. now_ns: monotonic. */
void catch_up_tick(struct dispatch *d, int64_t now_ns, bool others);

#endif
