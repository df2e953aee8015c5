#include "done/days.h"

#include <stdlib.h>
#include <string.h>

#define DAY_NS (86400LL * 1000000000LL)
/* The window cuts two days in part, and a clock may be a little ahead. */
#define MORE_THAN_WINDOW 2

int64_t days_of_ns(int64_t ns)
{
    return ns / DAY_NS - (ns % DAY_NS < 0);
}

ax_err days_init(struct days *d, int window, size_t entry_bytes)
{
    *d = (struct days){.window = window, .oldest = INT64_MIN, .entry_bytes = entry_bytes};
    if (window < 1 || window > DAYS_MAX)
        return AX_E_INVALID;
    d->entries = calloc((size_t)(window + MORE_THAN_WINDOW), entry_bytes);
    return d->entries != NULL ? AX_OK : AX_E_NOMEM;
}

void days_free(struct days *d, void (*drop)(void *entry))
{
    days_keep(d, 0, drop);
    free(d->entries);
    d->entries = NULL;
}

void *days_at(const struct days *d, int i)
{
    return d->entries + (size_t)i * d->entry_bytes;
}

static int64_t *day_at(const struct days *d, int i)
{
    return days_at(d, i);
}

void *days_get(struct days *d, int64_t day)
{
    int at = 0;
    while (at < d->count && *day_at(d, at) > day)
        at++;
    if (at < d->count && *day_at(d, at) == day)
        return days_at(d, at);
    if (d->count == d->window + MORE_THAN_WINDOW) {
        if (at > 0)
            return days_at(d, at - 1);
        *day_at(d, 0) = day;
        return days_at(d, 0);
    }
    char *entry = days_at(d, at);
    memmove(entry + d->entry_bytes, entry, (size_t)(d->count - at) * d->entry_bytes);
    memset(entry, 0, d->entry_bytes);
    *day_at(d, at) = day;
    d->count++;
    return entry;
}

bool days_is_over(const struct days *d, int64_t day)
{
    return day < d->oldest;
}

void days_expire(struct days *d, int64_t now_ns, void (*drop)(void *entry))
{
    d->oldest = days_of_ns(now_ns) - d->window; /* the last moments of that day are still inside */
    int keep = d->count;
    while (keep > 0 && days_is_over(d, *day_at(d, keep - 1)))
        keep--;
    days_keep(d, keep, drop);
}

void days_keep(struct days *d, int count, void (*drop)(void *entry))
{
    while (d->count > count)
        drop(days_at(d, --d->count));
}
