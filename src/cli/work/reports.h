/* What a worker tells the dispatcher of its pool on ax.worker.<pool>.<worker>: how busy it is, and
 * how long its tasks took (task/peer/report.h). Belongs to the loop's thread. */
#ifndef AX_CLI_WORK_REPORTS_H
#define AX_CLI_WORK_REPORTS_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "task/names.h"

#define REPORTS_TIMES_MAX 256

struct reports {
    natsConnection *nc; /* borrowed */
    char subject[SUBJECT_MAX_CHARS];
    uint32_t errors; /* since the last report */
    /* how long the tasks took that finished since the last report; of more, the last so many */
    int64_t times_ms[REPORTS_TIMES_MAX];
    uint64_t finished;
    int64_t due_ms, sent_ms;
    bool was_idle;
};

/* worker: a unique name. nc: borrowed; the texts are copied. */
void reports_init(struct reports *r, natsConnection *nc, const char *pool, const char *worker);
/* A command ended; ok: with an ack. */
void reports_ended(struct reports *r, bool ok, int64_t took_ms);
/* Sends a report when one is due: every 5 s, and sooner when the worker has become idle or busy.
 * capacity 0: the last report, at once. */
void reports_tick(struct reports *r, int busy, int capacity);
/* When to call reports_tick next (clock_now_ms). */
int64_t reports_due_ms(const struct reports *r);
/* How loaded this machine is, 0 to 1: the share of the last 10 s in which some process waited for
 * processor, memory or disk (the kernel's pressure stall information). Where the kernel has none:
 * the processes that want to run per processor, two of them being 1. */
double reports_machine_load(void);

#endif
