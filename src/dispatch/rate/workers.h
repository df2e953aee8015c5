/* The workers of a pool that report (task/peer/report.h): what each said last. Bounded: at most
 * WORKERS_MAX, and who has not been heard for WORKERS_SILENT_NS is forgotten. Pure: time is passed
 * in, which must not run backwards. Loop lock. */
#ifndef AX_DISPATCH_RATE_WORKERS_H
#define AX_DISPATCH_RATE_WORKERS_H

#include <stdint.h>

#include "task/peer/report.h"

#define WORKERS_MAX 4096
#define WORKERS_SILENT_NS 30000000000LL

struct worker;

struct workers {
    struct worker *list; /* hash by name, in the order in which they were heard last */
    /* sums over all of them */
    int64_t capacity, busy;
};

/* What was reported since a certain time, each worker counted once. */
struct workers_told {
    int count;
    double load; /* mean, by capacity; -1: nothing was reported */
    double errors;
};

/* A report; its errors are added to those of the worker that workers_since has not told yet.
 * Without memory it is lost. */
void workers_heard(struct workers *w, const char *name, const struct report *r, int64_t now_ns);
/* Forgets who has gone silent. */
void workers_tick(struct workers *w, int64_t now_ns);
int workers_count(const struct workers *w);
/* since_ns: monotonic. Tells errors once. */
struct workers_told workers_since(struct workers *w, int64_t since_ns);
void workers_free(struct workers *w);

#endif
