#include "bus/provision/pool_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "bus/provision/consumers.h"

#define NS_PER_MS 1000000LL
#define PAUSE_FIRST_MS 1000
#define PAUSE_MOST_MS 60000
#define UNDER_WAY_MAX 16 /* pools; each asks four questions or so */
#define SOON_MS 100      /* what is told in flocks is looked at once */

struct watched_pool {
    char name[NAME_MAX_CHARS + 1];
    struct pool_watch *watch;
    int64_t due_ns; /* monotonic: of the next look */
    int failures;   /* looks that failed one after the other */
    bool is_new;    /* never looked at: goes first */
    bool made;      /* its consumers exist, as far as is known */
    bool asking;    /* a look is under way */
    bool marked;    /* while it was: look again */
    bool removed;   /* while it was: goes with its answer */
    UT_hash_handle hh;
};

static void run(void *arg);

int64_t pool_watch_pause_ms(int failures)
{
    int64_t ms = PAUSE_FIRST_MS;
    for (int i = 1; i < failures && ms < PAUSE_MOST_MS; i++)
        ms *= 2;
    return ms < PAUSE_MOST_MS ? ms : PAUSE_MOST_MS;
}

static struct watched_pool *find(const struct pool_watch *w, const char *name)
{
    struct watched_pool *pool;
    HASH_FIND_STR(w->pools, name, pool);
    return pool;
}

static void schedule(struct pool_watch *w, int64_t due_ns)
{
    int64_t now = loop_now_ns(w->loop);
    if (!loop_timer_is_running(&w->timer) || w->timer.due_ns > due_ns)
        loop_timer_start_ns(w->loop, &w->timer, due_ns > now ? due_ns - now : 0, run, w);
}

static void look_at(struct pool_watch *w, struct watched_pool *pool, int64_t in_ms)
{
    int64_t due_ns = loop_now_ns(w->loop) + in_ms * NS_PER_MS;
    if (pool->asking) {
        pool->marked = true;
    } else if (pool->due_ns > due_ns) {
        pool->due_ns = due_ns;
    }
    schedule(w, due_ns);
}

/* ---- one look ---- */

static void on_changed(void *arg, const char *line)
{
    char text[300];
    (void)arg;
    log_info("consumer set up", "what=%s", log_quote(line, text, sizeof(text)));
}

static void tell_failed(struct watched_pool *pool, const struct problem *p)
{
    static struct log_gate gate;
    struct pool_watch *w = pool->watch;
    char text[400];
    log_limited(&gate, loop_now_ns(w->loop), LOG_WARN, "pool not provisioned, trying again",
                "pool=%s error=%s pause_ms=%lld", pool->name,
                log_quote(p->text, text, sizeof(text)),
                (long long)pool_watch_pause_ms(pool->failures));
    if (w->events.failed != NULL)
        w->events.failed(w->events.arg, pool->name, p);
}

static void on_done(void *arg, const char *name, const struct problem *p)
{
    struct watched_pool *pool = arg;
    struct pool_watch *w = pool->watch;
    (void)name;
    pool->asking = false;
    w->under_way--;
    if (pool->removed) {
        free(pool);
        return;
    }
    pool->made = p->err == AX_OK;
    pool->failures = pool->made ? 0 : pool->failures + 1;
    int64_t next_ms = pool->marked && pool->made ? SOON_MS
                      : pool->made               ? POOL_WATCH_VERIFY_MS
                                                 : pool_watch_pause_ms(pool->failures);
    pool->marked = false;
    pool->due_ns = loop_now_ns(w->loop) + next_ms * NS_PER_MS;
    schedule(w, pool->due_ns);
    if (!pool->made)
        tell_failed(pool, p);
    else if (w->events.provisioned != NULL)
        w->events.provisioned(w->events.arg, pool->name, &w->known);
}

static void look(struct watched_pool *pool)
{
    struct pool_watch *w = pool->watch;
    const struct consumers_events events = {.changed = on_changed, .done = on_done, .arg = pool};
    pool->asking = true;
    pool->is_new = false;
    w->under_way++;
    consumers_ensure_pool(w->asker, &w->known, pool->name, &events);
}

/* Begins the looks that are due, as far as there is room; returns when the next one is. */
static int64_t look_due(struct pool_watch *w, bool only_new, int64_t now)
{
    struct watched_pool *pool, *next;
    int64_t due_ns = INT64_MAX;
    HASH_ITER(hh, w->pools, pool, next) {
        if (pool->asking || (only_new && !pool->is_new))
            continue;
        if (pool->due_ns <= now && w->under_way < UNDER_WAY_MAX)
            look(pool);
        else if (pool->due_ns < due_ns)
            due_ns = pool->due_ns;
    }
    return due_ns;
}

static void run(void *arg)
{
    struct pool_watch *w = arg;
    int64_t now = loop_now_ns(w->loop);
    if (w->known.count == 0)
        return; /* pool_watch_priorities goes on */
    look_due(w, true, now);
    int64_t due_ns = look_due(w, false, now);
    /* Without room the looks that are due wait for an answer, which schedules the next one. */
    if (due_ns != INT64_MAX && w->under_way < UNDER_WAY_MAX)
        schedule(w, due_ns);
    else if (due_ns != INT64_MAX)
        schedule(w, now + SOON_MS * NS_PER_MS);
}

/* ---- from outside ---- */

void pool_watch_init(struct pool_watch *w, struct asker *a, struct loop *l,
                     const struct pool_watch_events *events)
{
    *w = (struct pool_watch){.asker = a, .loop = l, .events = *events};
}

ax_err pool_watch_add(struct pool_watch *w, const char *name)
{
    if (find(w, name) != NULL)
        return AX_OK;
    struct watched_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return AX_E_NOMEM;
    pool->watch = w;
    pool->is_new = true;
    pool->due_ns = loop_now_ns(w->loop);
    snprintf(pool->name, sizeof(pool->name), "%s", name);
    HASH_ADD_STR(w->pools, name, pool);
    schedule(w, pool->due_ns);
    return AX_OK;
}

void pool_watch_remove(struct pool_watch *w, const char *name)
{
    struct watched_pool *pool = find(w, name);
    if (pool == NULL)
        return;
    HASH_DEL(w->pools, pool);
    pool->removed = true;
    if (!pool->asking)
        free(pool);
}

/* The consumers that follow from these priorities are others. */
static bool differ(const struct priorities *a, const struct priorities *b)
{
    if (a->count != b->count)
        return true;
    for (int i = 0; i < a->count; i++) {
        const struct priority *x = &a->list[i], *y = &b->list[i];
        if (strcmp(x->name, y->name) != 0 || strcmp(x->stream, y->stream) != 0 ||
            x->rank != y->rank)
            return true;
    }
    return false;
}

/* A stream has fewer consumers than there should be: some were deleted, and the advisories were not
 * heard. */
static bool are_missing(const struct pool_watch *w, int64_t work_consumers)
{
    const struct watched_pool *pool, *next;
    int64_t made = 0;
    HASH_ITER(hh, w->pools, pool, next)
        made += pool->made && !pool->asking;
    bool missing = work_consumers >= 0 && work_consumers < made;
    for (int i = 0; i < w->known.count; i++)
        missing = missing || w->known.list[i].consumers < made;
    return missing;
}

void pool_watch_priorities(struct pool_watch *w, const struct priorities *ps,
                           int64_t work_consumers)
{
    bool others = differ(&w->known, ps);
    w->known = *ps;
    if (others || are_missing(w, work_consumers))
        pool_watch_mark_all(w);
    schedule(w, loop_now_ns(w->loop));
}

void pool_watch_mark(struct pool_watch *w, const char *name)
{
    struct watched_pool *pool = find(w, name);
    if (pool != NULL && pool->failures == 0)
        look_at(w, pool, SOON_MS);
}

void pool_watch_mark_failed(struct pool_watch *w)
{
    struct watched_pool *pool, *next;
    HASH_ITER(hh, w->pools, pool, next) {
        if (pool->failures > 0)
            look_at(w, pool, SOON_MS);
    }
}

void pool_watch_mark_stream(struct pool_watch *w, const char *stream)
{
    bool ours = strcmp(stream, STREAM_WORK) == 0;
    for (int i = 0; i < w->known.count; i++)
        ours = ours || strcmp(w->known.list[i].stream, stream) == 0;
    if (ours)
        pool_watch_mark_all(w);
}

void pool_watch_mark_all(struct pool_watch *w)
{
    struct watched_pool *pool, *next;
    HASH_ITER(hh, w->pools, pool, next)
        look_at(w, pool, SOON_MS);
}

void pool_watch_stop(struct pool_watch *w)
{
    loop_timer_stop(w->loop, &w->timer);
}
