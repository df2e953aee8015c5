#include "done/batch_index.h"

#include <stdlib.h>

#include "done/days.h"
#include "done/fingerprint.h"

/* A full table is followed by one a third the size of all before it: nothing is ever moved, no more
 * than a quarter is empty, and a look-up asks few tables. */
#define FIRST_SLOTS 4096
#define FULL_AT(slots) ((slots) / 8 * 7)
#define TABLES_MAX 64
#define BATCHES_FIRST 256

struct slot {
    uint32_t tag;   /* fingerprint of the id; where the slot lies follows from it */
    uint32_t batch; /* index in the day's list of batches + 1; 0: empty */
};

struct table {
    struct slot *slots;
    uint32_t size, count;
};

struct day {
    int64_t day; /* first (done/days.h) */
    int table_count;
    struct table tables[TABLES_MAX];
    struct record_batch_name *batches;
    uint32_t batch_count, batch_cap;
    uint64_t slots, entries;
};

struct batch_index {
    /* 0: by day. Else the "days" are generations of so many entries each, of which two are kept. */
    uint64_t generation_entries;
    uint64_t seed;
    struct days days; /* of struct day */
};

static void drop(void *day)
{
    struct day *d = day;
    for (int i = 0; i < d->table_count; i++)
        free(d->tables[i].slots);
    free(d->batches);
}

ax_err batch_index_new(struct batch_index **out, int days)
{
    struct batch_index *ix = calloc(1, sizeof(*ix));
    if (ix == NULL)
        return AX_E_NOMEM;
    ax_err err = days_init(&ix->days, days, sizeof(struct day));
    if (err != AX_OK) {
        free(ix);
        return err;
    }
    ix->seed = fingerprint_seed();
    *out = ix;
    return AX_OK;
}

ax_err batch_index_new_recent(struct batch_index **out, uint64_t entries)
{
    ax_err err = entries > 0 ? batch_index_new(out, 1) : AX_E_INVALID;
    if (err == AX_OK)
        (*out)->generation_entries = entries;
    return err;
}

void batch_index_free(struct batch_index *ix)
{
    if (ix == NULL)
        return;
    days_free(&ix->days, drop);
    free(ix);
}

/* The generation that takes the next ids; a full one leaves only itself and the next. */
static int64_t generation_now(struct batch_index *ix)
{
    if (ix->days.count == 0)
        return 0;
    const struct day *newest = days_at(&ix->days, 0);
    if (newest->entries < ix->generation_entries)
        return newest->day;
    days_keep(&ix->days, 1, drop);
    return newest->day + 1;
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
    t->slots[at] = (struct slot){tag, d->batch_count};
    t->count++;
    d->entries++;
    return true;
}

static bool is_same(const struct record_batch_name *a, const struct record_batch_name *b)
{
    return a->writer == b->writer && a->number == b->number && a->entries == b->entries;
}

/* Puts a batch's name into the list of its day, unless it is the last one there already. */
static ax_err add_batch(struct day *d, const struct record_batch_name *name)
{
    if (d->batch_count > 0 && is_same(&d->batches[d->batch_count - 1], name))
        return AX_OK;
    if (d->batch_count == d->batch_cap) {
        uint32_t cap = d->batch_cap == 0 ? BATCHES_FIRST : d->batch_cap + d->batch_cap / 2;
        if (cap < d->batch_cap)
            return AX_E_NOMEM;
        struct record_batch_name *grown = realloc(d->batches, cap * sizeof(*grown));
        if (grown == NULL)
            return AX_E_NOMEM;
        d->batches = grown;
        d->batch_cap = cap;
    }
    d->batches[d->batch_count++] = *name;
    return AX_OK;
}

ax_err batch_index_add(struct batch_index *ix, const struct record_batch_name *name,
                       const struct record_batch *batch, int64_t ns)
{
    int64_t day = ix->generation_entries > 0 ? generation_now(ix) : days_of_ns(ns);
    if (days_is_over(&ix->days, day))
        return AX_OK;
    struct day *d = days_get(&ix->days, day);
    ax_err err = add_batch(d, name);
    for (int i = 0; i < batch->count && err == AX_OK; i++) {
        if (!add_tag(d, (uint32_t)fingerprint_of(ix->seed, batch->entries[i].task)))
            err = AX_E_NOMEM;
    }
    return err;
}

static void find_in_table(const struct table *t, uint32_t tag, uint32_t *batches, int *n)
{
    for (uint32_t at = home(t, tag); t->slots[at].batch != 0; at = at + 1 < t->size ? at + 1 : 0) {
        if (t->slots[at].tag == tag && *n < BATCH_INDEX_FOUND_MAX)
            batches[(*n)++] = t->slots[at].batch;
    }
}

static int by_newest(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

int batch_index_find(const struct batch_index *ix, const char *id,
                     struct record_batch_name out[BATCH_INDEX_FOUND_MAX])
{
    uint32_t tag = (uint32_t)fingerprint_of(ix->seed, id), batches[BATCH_INDEX_FOUND_MAX];
    int found = 0;
    for (int i = 0; i < ix->days.count; i++) {
        const struct day *d = days_at(&ix->days, i);
        int n = 0;
        for (int k = d->table_count - 1; k >= 0; k--)
            find_in_table(&d->tables[k], tag, batches, &n);
        qsort(batches, (size_t)n, sizeof(batches[0]), by_newest);
        for (int k = 0; k < n && found < BATCH_INDEX_FOUND_MAX; k++)
            out[found++] = d->batches[batches[k] - 1];
    }
    return found;
}

void batch_index_expire(struct batch_index *ix, int64_t now_ns)
{
    if (ix->generation_entries == 0)
        days_expire(&ix->days, now_ns, drop);
}

uint64_t batch_index_entries(const struct batch_index *ix)
{
    uint64_t entries = 0;
    for (int i = 0; i < ix->days.count; i++)
        entries += ((const struct day *)days_at(&ix->days, i))->entries;
    return entries;
}

size_t batch_index_bytes(const struct batch_index *ix)
{
    size_t bytes = sizeof(*ix);
    for (int i = 0; i < ix->days.count; i++) {
        const struct day *d = days_at(&ix->days, i);
        bytes += d->slots * sizeof(struct slot) + d->batch_cap * sizeof(struct record_batch_name);
    }
    return bytes;
}
