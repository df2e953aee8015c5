#include "done/filter.h"

#include <bloom.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "done/days.h"

#define CHAIN_MAX 24
/* A check asks every filter of every day, and the error rates of a day's filters add up. Beyond
 * this many halvings a better rate costs bits and gains nothing. */
#define HALVINGS_MAX 4
/* libbloom 1.6 counts bits in an int. */
#define BITS_MAX (1LL << 30)

struct generation {
    int64_t day; /* first (done/days.h) */
    int count;
    /* an id of this day could not be stored: "maybe" is the only safe answer while the day lives */
    bool lossy;
    uint64_t entries; /* of all filters */
    uint64_t in_last; /* of the last filter */
    struct bloom chain[CHAIN_MAX];
};

struct filter {
    unsigned first_entries;
    double error;
    uint64_t checks, negatives, false_positives;
    struct days days; /* of struct generation; a day has one from its first id on */
};

static int open_bloom(struct bloom *b, unsigned entries, double error)
{
    memset(b, 0, sizeof(*b));
#ifdef NULL_BLOOM_FILTER /* comes with libbloom 2 */
    return bloom_init2(b, entries, error);
#else
    return bloom_init(b, (int)entries, error);
#endif
}

static void drop_chain(void *generation)
{
    struct generation *g = generation;
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

ax_err filter_new(struct filter **out, int days, int first_entries, double error)
{
    if (first_entries < 1024 || !(error >= 1e-6 && error <= 0.1))
        return AX_E_INVALID;
    struct filter *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return AX_E_NOMEM;
    ax_err err = days_init(&f->days, days, sizeof(struct generation));
    if (err != AX_OK) {
        free(f);
        return err;
    }
    f->first_entries = (unsigned)first_entries;
    f->error = error;
    *out = f;
    return AX_OK;
}

void filter_free(struct filter *f)
{
    if (f == NULL)
        return;
    days_free(&f->days, drop_chain);
    free(f);
}

ax_err filter_add(struct filter *f, const void *id, size_t bytes, int64_t ns)
{
    if (days_is_over(&f->days, days_of_ns(ns)))
        return AX_OK;
    struct generation *g = days_get(&f->days, days_of_ns(ns));
    if (g->lossy)
        return AX_E_NOMEM;
    if (chain_has(g, id, bytes))
        return AX_OK;
    bool full = g->count == 0 || g->in_last >= (uint64_t)g->chain[g->count - 1].entries;
    if (full && !extend(f, g)) {
        g->lossy = true;
        drop_chain(g);
        return AX_E_NOMEM;
    }
    bloom_add(&g->chain[g->count - 1], id, (int)bytes);
    g->in_last++;
    g->entries++;
    return AX_OK;
}

bool filter_check(struct filter *f, const void *id, size_t bytes)
{
    f->checks++;
    for (int i = 0; i < f->days.count; i++) {
        struct generation *g = days_at(&f->days, i);
        if (g->lossy || chain_has(g, id, bytes))
            return true;
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
    days_expire(&f->days, now_ns, drop_chain);
}

void filter_stats(const struct filter *f, struct filter_stats *out)
{
    *out = (struct filter_stats){.generations = (uint64_t)f->days.count,
                                 .checks = f->checks,
                                 .negatives = f->negatives,
                                 .maybes = f->checks - f->negatives,
                                 .false_positives = f->false_positives};
    for (int i = 0; i < f->days.count; i++) {
        const struct generation *g = days_at(&f->days, i);
        out->entries += g->entries;
        for (int k = 0; k < g->count; k++)
            out->bytes += (uint64_t)g->chain[k].bytes;
    }
}
