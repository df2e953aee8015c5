#include "dispatch/rate/workers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

struct worker {
    char name[WORKER_NAME_MAX_CHARS + 1];
    struct report report;
    int64_t heard_ns;
    double errors; /* not told yet */
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

void workers_heard(struct workers *w, const char *name, const struct report *r, int64_t now_ns)
{
    struct worker *one = NULL;
    HASH_FIND_STR(w->list, name, one);
    if (r->capacity == 0) {
        if (one != NULL)
            forget(w, one);
        return;
    }
    if (one != NULL) {
        count(w, one, -1);
        HASH_DEL(w->list, one); /* comes to the end */
    } else {
        one = calloc(1, sizeof(*one));
        if (one == NULL)
            return;
        snprintf(one->name, sizeof(one->name), "%s", name);
        if (HASH_COUNT(w->list) >= WORKERS_MAX)
            forget(w, w->list);
    }
    one->report = *r;
    one->heard_ns = now_ns;
    one->errors += r->errors;
    count(w, one, 1);
    HASH_ADD_STR(w->list, name, one);
}

void workers_tick(struct workers *w, int64_t now_ns)
{
    while (w->list != NULL && now_ns - w->list->heard_ns > WORKERS_SILENT_NS)
        forget(w, w->list);
}

int workers_count(const struct workers *w)
{
    return (int)HASH_COUNT(w->list);
}

struct workers_told workers_since(struct workers *w, int64_t since_ns)
{
    struct workers_told told = {.load = -1};
    double weighed = 0, capacity = 0;
    for (struct worker *one = w->list; one != NULL; one = one->hh.next) {
        told.errors += one->errors;
        one->errors = 0;
        if (one->heard_ns < since_ns)
            continue;
        told.count++;
        weighed += one->report.load * one->report.capacity;
        capacity += one->report.capacity;
    }
    if (capacity > 0)
        told.load = weighed / capacity;
    return told;
}

void workers_free(struct workers *w)
{
    while (w->list != NULL)
        forget(w, w->list);
}
