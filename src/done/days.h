/* A list with one entry a day (UTC), from which old days fall out as a whole: what the Bloom filter
 * and the index of record batches have in common. The entries lie in one block that is taken when
 * the list is made, so that a new day never fails. Not thread-safe: the loop's lock. */
#ifndef AX_DONE_DAYS_H
#define AX_DONE_DAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DAYS_MAX 31

struct days {
    int window;     /* days that are kept */
    int64_t oldest; /* days before this one are outside of the window */
    int count;
    size_t entry_bytes;
    char *entries; /* the newest first; each begins with its day, an int64_t */
};

/* The day of a time, in days since the Unix epoch. ns may be negative. */
int64_t days_of_ns(int64_t ns);

/* Makes an empty list. window: 1 to DAYS_MAX days. entry_bytes: size of the caller's struct, whose
 * first member is an int64_t, the day. AX_E_INVALID (window), AX_E_NOMEM. */
ax_err days_init(struct days *d, int window, size_t entry_bytes);
/* drop frees what an entry owns. days_init has succeeded, or *d is all zeros. */
void days_free(struct days *d, void (*drop)(void *entry));

/* Entry i, 0 being the newest; i < d->count. Borrowed: days_get and days_expire move entries. */
void *days_at(const struct days *d, int i);
/* The entry of a day; a new one is all zeros but for its day. With more days than a window can have
 * (a clock that jumped) it is the next newer day's: what is put there is kept for longer rather
 * than for shorter. Never NULL. Borrowed, as above. */
void *days_get(struct days *d, int64_t day);

/* Whether the whole day lies before the window of the last days_expire. */
bool days_is_over(const struct days *d, int64_t day);
/* Drops the days that lie wholly before the window that ends at now_ns. */
void days_expire(struct days *d, int64_t now_ns, void (*drop)(void *entry));
/* Drops all but the newest count entries. */
void days_keep(struct days *d, int count, void (*drop)(void *entry));

#endif
