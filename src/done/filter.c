#include "done/filter.h"

#include <bloom.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS (86400LL * 1000000000LL)
#define DAYS_MAX 31
#define CHAIN_MAX 24
/* A check asks every filter of every day, and filters of one generation add up their error rates.
 * Beyond this many halvings a better rate costs bits and gains nothing. */
#define HALVINGS_MAX 4
/* libbloom 1.6 counts bits in an int. */
#define BITS_MAX (1LL << 30)

struct generation {
    int64_t day; /* days since the Unix epoch */
    int count;
    /* an id of this day could not be stored: no answer but "maybe" is safe while the day lives */
    bool lossy;
    uint64_t entries; /* in all */
    uint64_t in_last; /* in the newest filter of the chain */
    struct bloom chain[CHAIN_MAX];
};

struct filter {
    int days;
    unsigned first_entries;
    double error;
    int64_t oldest_day; /* days before this are outside of the window */
    int count;
    int capacity;
    uint64_t checks, negatives, false_positives;
    struct generation generations[]; /* by day, newest first; a day has none until its first id */
};

static int64_t day_of(int64_t ns)
{
    return ns / DAY_NS - (ns % DAY_NS < 0);
}

static int open_bloom(struct bloom *b, unsigned entries, double error)
{
    memset(b, 0, sizeof(*b));
#ifdef NULL_BLOOM_FILTER /* comes with libbloom 2 */
    return bloom_init2(b, entries, error);
#else
    return bloom_init(b, (int)entries, error);
#endif
}

static void drop_chain(struct generation *g)
{
    for (int i = 0; i < g->count; i++) {
        bloom_free(&g->chain[i]);
    }
    g->count = 0;
}

/* Opens the chain's next filter, twice the size of the last one. */
static bool extend(const struct filter *f, struct generation *g)
{
    if (g->count == CHAIN_MAX) {
        return false;
    }
    int halvings = g->count < HALVINGS_MAX ? g->count : HALVINGS_MAX;
    double error = f->error / (1 << halvings), bits_each = -log(error) / (M_LN2 * M_LN2);
    double entries = (double)f->first_entries * (double)(1u << g->count),
           most = (double)BITS_MAX / bits_each;
    if (open_bloom(&g->chain[g->count], (unsigned)(entries < most ? entries : most), error) != 0) {
        return false;
    }
    g->count++;
    g->in_last = 0;
    return true;
}

static bool chain_has(struct generation *g, const void *id, size_t bytes)
{
    for (int i = g->count - 1; i >= 0; i--) { /* the largest first: most ids are there */
        if (bloom_check(&g->chain[i], id, (int)bytes) != 0) {
            return true;
        }
    }
    return false;
}

/* The generation for day, opened if need be. */
static struct generation *generation_for(struct filter *f, int64_t day)
{
    struct generation *g = f->generations;
    int at = 0;
    while (at < f->count && g[at].day > day) {
        at++;
    }
    if (at < f->count && g[at].day == day) {
        return &g[at];
    }
    if (f->count == f->capacity) {
        /* More days than a window has (a clock that jumped): keep the id for longer rather than for
         * shorter. */
        if (at == 0) {
            g[0].day = day;
            return &g[0];
        }
        return &g[at - 1];
    }
    memmove(&g[at + 1], &g[at], (size_t)(f->count - at) * sizeof(*g));
    memset(&g[at], 0, sizeof(*g));
    g[at].day = day;
    f->count++;
    return &g[at];
}

ax_err filter_new(struct filter **out, int days, int first_entries, double error)
{
    if (days < 1 || days > DAYS_MAX || first_entries < 1024 || !(error >= 1e-6 && error <= 0.1)) {
        return AX_E_INVALID;
    }
    /* the window cuts two days in part, and a clock may be a little ahead */
    int capacity = days + 2;
    struct filter *f = calloc(1, sizeof(*f) + (size_t)capacity * sizeof(f->generations[0]));
    if (f == NULL) {
        return AX_E_NOMEM;
    }
    f->days = days;
    f->capacity = capacity;
    f->first_entries = (unsigned)first_entries;
    f->error = error;
    f->oldest_day = INT64_MIN;
    *out = f;
    return AX_OK;
}

void filter_free(struct filter *f)
{
    if (f == NULL) {
        return;
    }
    for (int i = 0; i < f->count; i++) {
        drop_chain(&f->generations[i]);
    }
    free(f);
}

ax_err filter_add(struct filter *f, const void *id, size_t bytes, int64_t ns)
{
    int64_t day = day_of(ns);
    if (day < f->oldest_day) {
        return AX_OK;
    }
    struct generation *g = generation_for(f, day);
    if (g->lossy) {
        return AX_E_NOMEM;
    }
    if (chain_has(g, id, bytes)) {
        return AX_OK;
    }
    if (g->count == 0 || g->in_last >= (uint64_t)g->chain[g->count - 1].entries) {
        if (!extend(f, g)) {
            g->lossy = true;
            drop_chain(g);
            return AX_E_NOMEM;
        }
    }
    bloom_add(&g->chain[g->count - 1], id, (int)bytes);
    g->in_last++;
    g->entries++;
    return AX_OK;
}

bool filter_check(struct filter *f, const void *id, size_t bytes)
{
    f->checks++;
    for (int i = 0; i < f->count; i++) {
        if (f->generations[i].lossy || chain_has(&f->generations[i], id, bytes)) {
            return true;
        }
    }
    f->negatives++;
    return false;
}

void filter_was_false(struct filter *f)
{
    f->false_positives++;
}

void filter_expire(struct filter *f, int64_t now_ns)
{
    f->oldest_day = day_of(now_ns) - f->days; /* its last moments are still inside */
    while (f->count > 0 && f->generations[f->count - 1].day < f->oldest_day) {
        drop_chain(&f->generations[--f->count]);
    }
}

void filter_stats(const struct filter *f, struct filter_stats *out)
{
    *out = (struct filter_stats){.generations = (uint64_t)f->count,
                                 .checks = f->checks,
                                 .negatives = f->negatives,
                                 .maybes = f->checks - f->negatives,
                                 .false_positives = f->false_positives};
    for (int i = 0; i < f->count; i++) {
        const struct generation *g = &f->generations[i];
        out->entries += g->entries;
        for (int k = 0; k < g->count; k++) {
            out->bytes += (uint64_t)g->chain[k].bytes;
        }
    }
}
