#include "dispatch/rate/workers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

struct worker {
    char name[WORKER_NAME_MAX_CHARS + 1];
    struct report report;
    int64_t observed_ns;
    UT_hash_handle hh;
};

static void count(struct workers *w, const struct worker *one, int sign)
{
    w->capacity += sign * (int64_t)one->report.capacity;
    w->busy += sign * (int64_t)one->report.busy;
}

static void forget(struct workers *w, struct worker *one)
{
    count(w, one, -1);
    HASH_DEL(w->list, one);
    free(one);
}

/* Found, or new with room made for it; counted nowhere and not in the list. NULL: no memory. */
static struct worker *take(struct workers *w, const char *name, struct worker *found)
{
    if (found != NULL) {
        count(w, found, -1);
        HASH_DEL(w->list, found);
        return found;
    }
    struct worker *one = calloc(1, sizeof(*one));
    if (one == NULL)
        return NULL;
    snprintf(one->name, sizeof(one->name), "%s", name);
    if (HASH_COUNT(w->list) >= WORKERS_MAX)
        forget(w, w->list);
    return one;
}

void workers_observe(struct workers *w, const char *name, const struct report *r, int64_t now_ns)
{
    struct worker *one = NULL;
    HASH_FIND_STR(w->list, name, one);
    if (r->capacity == 0) {
        if (one != NULL)
            forget(w, one);
        return;
    }
    one = take(w, name, one);
    if (one == NULL)
        return;
    one->report = *r;
    one->observed_ns = now_ns;
    w->errors += r->errors;
    count(w, one, 1);
    HASH_ADD_STR(w->list, name, one); /* at the end: the newest */
}

void workers_expire(struct workers *w, int64_t now_ns)
{
    while (w->list != NULL && now_ns - w->list->observed_ns > WORKERS_SILENT_NS)
        forget(w, w->list);
}

int workers_count(const struct workers *w)
{
    return (int)HASH_COUNT(w->list);
}

double workers_load(const struct workers *w, int64_t since_ns)
{
    double weighed = 0, capacity = 0;
    for (const struct worker *one = w->list; one != NULL; one = one->hh.next) {
        if (one->observed_ns >= since_ns) {
            weighed += one->report.load * one->report.capacity;
            capacity += one->report.capacity;
        }
    }
    return capacity > 0 ? weighed / capacity : -1;
}

void workers_free(struct workers *w)
{
    while (w->list != NULL)
        forget(w, w->list);
    w->errors = 0;
}
