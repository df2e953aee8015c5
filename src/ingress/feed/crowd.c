#include "ingress/feed/crowd.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "task/names.h"

#define HELD_UP_NS 200000000LL /* for so long nobody is given back */
#define OVER_NS 300000000LL    /* not held up for so long: no longer held up */
#define ALWAYS_MAY_STAY 16
#define TICKS_OF_RATE 5 /* half a second */
#define RETURN_FIRST_NS 1000000000LL
#define RETURN_LAST_NS 600000000000LL
#define RETURNS_PER_S 1000 /* at least; twice as many as are fed */

struct crowd_pool {
    char pool[NAME_MAX_CHARS + 1];
    int in_window;
    int fed;             /* since the last tick */
    double fed_lately;   /* in half a second, smoothed */
    int64_t since_ns;    /* held up since; 0: never */
    int64_t held_up_ns;  /* seen held up last */
    int64_t returned_ns; /* when the one given back last returns */
    UT_hash_handle hh;
};

struct crowd {
    struct crowd_pool *table;
};

struct crowd *crowd_new(void)
{
    return calloc(1, sizeof(struct crowd));
}

struct crowd_pool *crowd_enter(struct crowd *c, const char *pool)
{
    struct crowd_pool *p;
    HASH_FIND_STR(c->table, pool, p);
    if (p == NULL) {
        p = calloc(1, sizeof(*p));
        if (p == NULL)
            return NULL;
        snprintf(p->pool, sizeof(p->pool), "%s", pool);
        HASH_ADD_STR(c->table, pool, p);
    }
    p->in_window++;
    return p;
}

void crowd_leave(struct crowd_pool *p, bool fed)
{
    if (p == NULL)
        return;
    p->in_window--;
    p->fed += fed;
}

void crowd_held_up(struct crowd_pool *p, int64_t now_ns)
{
    if (p == NULL)
        return;
    if (p->since_ns == 0 || now_ns - p->held_up_ns > OVER_NS)
        p->since_ns = now_ns;
    p->held_up_ns = now_ns;
}

bool crowd_is_too_large(const struct crowd_pool *p, int64_t now_ns)
{
    return p != NULL && p->since_ns != 0 && now_ns - p->since_ns >= HELD_UP_NS &&
           p->in_window > ALWAYS_MAY_STAY + p->fed_lately;
}

int64_t crowd_return_ms(struct crowd_pool *p, int64_t now_ns)
{
    if (p == NULL)
        return RETURN_FIRST_NS / 1000000;
    double per_s = p->fed_lately * 2 * (1000.0 / CROWD_TICK_MS / TICKS_OF_RATE);
    double apart_ns = 1e9 / (per_s > RETURNS_PER_S ? per_s : RETURNS_PER_S);
    int64_t first = now_ns + RETURN_FIRST_NS, next = p->returned_ns + (int64_t)apart_ns;
    p->returned_ns = next < first                     ? first
                     : next < now_ns + RETURN_LAST_NS ? next
                                                      : now_ns + RETURN_LAST_NS;
    return (p->returned_ns - now_ns) / 1000000;
}

void crowd_tick(struct crowd *c, int64_t now_ns)
{
    struct crowd_pool *p, *next;
    HASH_ITER(hh, c->table, p, next) {
        p->fed_lately += p->fed - p->fed_lately / TICKS_OF_RATE;
        p->fed = 0;
        if (p->in_window > 0 || p->fed_lately > 1 || p->returned_ns > now_ns ||
            now_ns - p->held_up_ns < OVER_NS)
            continue;
        HASH_DEL(c->table, p);
        free(p);
    }
}
