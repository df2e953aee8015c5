/* Pools as the commands see them: adding one, reading the bucket, counting. Blocking. */
#ifndef AX_CLI_STREAMS_POOL_H
#define AX_CLI_STREAMS_POOL_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/provision/provision.h"
#include "task/names.h"
#include "task/peer/instance.h"
#include "task/peer/lease.h"

/* Adds the pool with these settings and sees to its consumers. AX_E_EXISTS: it was there (its
 * consumers are seen to all the same). */
ax_err pool_add(natsConnection *nc, const char *pool, const char *json, struct problem *p);

struct pool_entry {
    char name[NAME_MAX_CHARS + 1];
    char *json; /* as it stands in the bucket, control characters replaced by blanks */
};
struct pool_list {
    int count;
    struct pool_entry *list; /* by name */
};
ax_err pool_list_read(natsConnection *nc, struct pool_list *out, struct problem *p);
void pool_list_free(struct pool_list *l);

/* -1 where a consumer is missing. */
struct pool_counts {
    int64_t queued[PRIORITIES_MAX];  /* unfinished, those running included */
    int64_t waiting[PRIORITIES_MAX]; /* not yet taken by the dispatcher */
    int64_t handed;                  /* handed over, no worker has fetched them yet */
    int64_t running;                 /* with workers, not acked */
    int64_t pulls;                   /* pull requests of workers that wait */
    int64_t ack_wait_ms;
    int64_t max_ack_pending;
    char leader[INSTANCE_MAX_CHARS + 1]; /* the dispatcher that leads it; "": none */
};
ax_err pool_count(natsConnection *nc, const struct priorities *ps, const char *pool,
                  struct pool_counts *out, struct problem *p);

#endif
