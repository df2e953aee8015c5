#include "done/batch_index.h"

#include <stdlib.h>
#include <string.h>

#include "done/fingerprint.h"

#define DAY_NS (86400LL * 1000000000LL)
#define DAYS_MAX 31
/* A full table is followed by one a third the size of all before it: nothing is ever moved, no more
 * than a quarter is empty, and a look-up asks few tables. */
#define FIRST_SLOTS 4096
#define FULL_AT(slots) ((slots) / 8 * 7)
#define TABLES_MAX 64
#define PAGES_FIRST 256

struct slot {
    uint32_t tag;   /* of the id; its place follows from it */
    uint32_t batch; /* place in the day's list of pages + 1; 0: empty */
};

struct table {
    struct slot *slots;
    uint32_t size, count;
};

struct day {
    int64_t day; /* since the Unix epoch */
    int table_count;
    struct table tables[TABLES_MAX];
    struct record_batch_name *pages;
    uint32_t page_count, page_cap;
    uint64_t slots, entries;
};

struct batch_index {
    int days;
    /* 0: days; else the "days" are generations of so many entries each, of which two are kept */
    uint64_t most;
    uint64_t seed;
    int64_t oldest_day;
    int count;
    struct day list[DAYS_MAX + 2]; /* the newest first */
};

static int64_t day_of(int64_t ns)
{
    return ns / DAY_NS - (ns % DAY_NS < 0);
}

static void drop(struct day *d)
{
    for (int i = 0; i < d->table_count; i++)
        free(d->tables[i].slots);
    free(d->pages);
}

ax_err batch_index_new(struct batch_index **out, int days)
{
    if (days < 1 || days > DAYS_MAX)
        return AX_E_INVALID;
    struct batch_index *ix = calloc(1, sizeof(*ix));
    if (ix == NULL)
        return AX_E_NOMEM;
    ix->days = days;
    ix->seed = fingerprint_seed();
    ix->oldest_day = INT64_MIN;
    *out = ix;
    return AX_OK;
}

ax_err batch_index_new_recent(struct batch_index **out, uint64_t entries)
{
    ax_err err = entries > 0 ? batch_index_new(out, 1) : AX_E_INVALID;
    if (err == AX_OK)
        (*out)->most = entries;
    return err;
}

void batch_index_free(struct batch_index *ix)
{
    for (int i = 0; ix != NULL && i < ix->count; i++)
        drop(&ix->list[i]);
    free(ix);
}

/* The place of day in the list, made if need be. With more days than a window has (a clock that
 * jumped) a page is kept with the next newer day: for longer rather than for shorter. */
static struct day *day_for(struct batch_index *ix, int64_t day)
{
    int at = 0;
    while (at < ix->count && ix->list[at].day > day)
        at++;
    if (at < ix->count && ix->list[at].day == day)
        return &ix->list[at];
    if (ix->count == ix->days + 2) {
        if (at == 0)
            ix->list[0].day = day;
        return &ix->list[at == 0 ? 0 : at - 1];
    }
    memmove(&ix->list[at + 1], &ix->list[at], (size_t)(ix->count - at) * sizeof(ix->list[0]));
    memset(&ix->list[at], 0, sizeof(ix->list[0]));
    ix->list[at].day = day;
    ix->count++;
    return &ix->list[at];
}

static int64_t generation_for(struct batch_index *ix)
{
    if (ix->count == 0)
        return 0;
    if (ix->list[0].entries < ix->most)
        return ix->list[0].day;
    while (ix->count > 1)
        drop(&ix->list[--ix->count]);
    return ix->list[0].day + 1;
}

static uint32_t home(const struct table *t, uint32_t tag)
{
    return (uint32_t)((uint64_t)tag * t->size >> 32);
}

static bool extend(struct day *d)
{
    uint64_t size = d->slots / 3 > FIRST_SLOTS ? d->slots / 3 : FIRST_SLOTS;
    if (d->table_count == TABLES_MAX || size > UINT32_MAX)
        return false;
    struct table *t = &d->tables[d->table_count];
    *t = (struct table){.slots = calloc(size, sizeof(*t->slots)), .size = (uint32_t)size};
    if (t->slots == NULL)
        return false;
    d->table_count++;
    d->slots += size;
    return true;
}

static bool add_tag(struct day *d, uint32_t tag)
{
    struct table *t = d->table_count > 0 ? &d->tables[d->table_count - 1] : NULL;
    if (t == NULL || t->count >= FULL_AT(t->size)) {
        if (!extend(d))
            return false;
        t = &d->tables[d->table_count - 1];
    }
    uint32_t at = home(t, tag);
    while (t->slots[at].batch != 0)
        at = at + 1 < t->size ? at + 1 : 0;
    t->slots[at] = (struct slot){tag, d->page_count};
    t->count++;
    d->entries++;
    return true;
}

ax_err batch_index_add(struct batch_index *ix, const struct record_batch_name *name,
                       const struct record_batch *page, int64_t ns)
{
    int64_t day = ix->most > 0 ? generation_for(ix) : day_of(ns);
    if (ix->most == 0 && day < ix->oldest_day)
        return AX_OK;
    struct day *d = day_for(ix, day);
    if (d->page_count == d->page_cap) {
        uint32_t cap = d->page_cap == 0 ? PAGES_FIRST : d->page_cap + d->page_cap / 2;
        struct record_batch_name *grown = cap > d->page_cap
                                              ? realloc(d->pages, cap * sizeof(*grown))
                                              : NULL;
        if (grown == NULL)
            return AX_E_NOMEM;
        d->pages = grown;
        d->page_cap = cap;
    }
    const struct record_batch_name *last = d->page_count > 0 ? &d->pages[d->page_count - 1] : NULL;
    if (last == NULL || last->writer != name->writer || last->number != name->number ||
        last->entries != name->entries)
        d->pages[d->page_count++] = *name;
    for (int i = 0; i < page->count; i++) {
        if (!add_tag(d, (uint32_t)fingerprint_of(ix->seed, page->entries[i].task)))
            return AX_E_NOMEM;
    }
    return AX_OK;
}

static void find_in_table(const struct table *t, uint32_t tag, uint32_t *pages, int *n)
{
    for (uint32_t at = home(t, tag); t->slots[at].batch != 0; at = at + 1 < t->size ? at + 1 : 0) {
        if (t->slots[at].tag == tag && *n < RECORD_BATCH_CANDIDATES_MAX)
            pages[(*n)++] = t->slots[at].batch;
    }
}

static int by_newest(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

int batch_index_find(const struct batch_index *ix, const char *id,
                     struct record_batch_name out[RECORD_BATCH_CANDIDATES_MAX])
{
    uint32_t tag = (uint32_t)fingerprint_of(ix->seed, id), pages[RECORD_BATCH_CANDIDATES_MAX];
    int found = 0;
    for (int i = 0; i < ix->count; i++) {
        const struct day *d = &ix->list[i];
        int n = 0;
        for (int k = d->table_count - 1; k >= 0; k--)
            find_in_table(&d->tables[k], tag, pages, &n);
        qsort(pages, (size_t)n, sizeof(pages[0]), by_newest);
        for (int k = 0; k < n && found < RECORD_BATCH_CANDIDATES_MAX; k++)
            out[found++] = d->pages[pages[k] - 1];
    }
    return found;
}

void batch_index_expire(struct batch_index *ix, int64_t now_ns)
{
    if (ix->most > 0)
        return;
    ix->oldest_day = day_of(now_ns) - ix->days; /* its last moments are still inside */
    while (ix->count > 0 && ix->list[ix->count - 1].day < ix->oldest_day)
        drop(&ix->list[--ix->count]);
}

uint64_t batch_index_entries(const struct batch_index *ix)
{
    uint64_t entries = 0;
    for (int i = 0; i < ix->count; i++)
        entries += ix->list[i].entries;
    return entries;
}

size_t batch_index_bytes(const struct batch_index *ix)
{
    size_t bytes = sizeof(*ix);
    for (int i = 0; i < ix->count; i++) {
        bytes += ix->list[i].slots * sizeof(struct slot) +
                 ix->list[i].page_cap * sizeof(struct record_batch_name);
    }
    return bytes;
}
