/* The workers of a pool that send reports (task/peer/report.h): the last report of each. Bounded:
 * at most WORKERS_MAX workers, and one that has not reported for WORKERS_SILENT_NS is forgotten.
 * Pure: the caller passes the time (monotonic), which must not run backwards. Loop lock. */
#ifndef AX_DISPATCH_RATE_WORKERS_H
#define AX_DISPATCH_RATE_WORKERS_H

#include <stdint.h>

#include "task/peer/report.h"

#define WORKERS_MAX 4096
#define WORKERS_SILENT_NS 30000000000LL

struct worker;

/* Zero-initialise. */
struct workers {
    struct worker *list;    /* hash by name; the one whose report is oldest comes first */
    int64_t capacity, busy; /* sums over the last reports */
    double errors;          /* sum over all reports since the caller last set it to 0 */
};

/* A report of the worker `name` (copied): replaces its last one. Capacity 0: the worker stops, and
 * is forgotten. Without memory the report is lost. */
void workers_observe(struct workers *w, const char *name, const struct report *r, int64_t now_ns);
/* Forgets the workers that have been silent for too long. */
void workers_expire(struct workers *w, int64_t now_ns);
int workers_count(const struct workers *w);
/* Mean load of the workers that have reported since since_ns, 0 … 1, weighted by capacity. -1: none
 * has. */
double workers_load(const struct workers *w, int64_t since_ns);
/* Forgets everything. */
void workers_free(struct workers *w);

#endif
