/* The dispatcher's view of KV_AX_DONE, the filter and the index of pages: built from the bucket at
 * start and added to by what this process records. What other dispatchers recorded is read on
 * taking over a pool, and every few seconds while there are others, so that there is little to read
 * then. Until that reading has ended no task of the pool starts: a record in a page that was not
 * read cannot be found (docs/design.md). Loop lock. */
#ifndef AX_DISPATCH_LEAD_CATCH_UP_H
#define AX_DISPATCH_LEAD_CATCH_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct dispatch;
struct pool;

/* Reads the bucket from where the last reading ended. Returns the number of the reading that has
 * all that is stored now: when catch_up_done has reached it, "no" of the filter is certain. */
uint64_t catch_up_begin(struct dispatch *d);
uint64_t catch_up_done(const struct dispatch *d);
/* Calls cb when all that is stored now has been read; each within a reading or two of the others
 * that wait. */
ax_err catch_up_when_done(struct dispatch *d, void (*cb)(void *arg), void *arg);
/* Every record that counts for this pool is known. */
bool catch_up_suffices(const struct pool *p);
/* Called often: reads what other dispatchers recorded, now and then, and what could not be read
 * before. */
void catch_up_tick(struct dispatch *d, int64_t now_ns, bool others);

#endif
