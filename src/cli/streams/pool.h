/* Pools, for commands: adds one, reads the bucket, counts tasks. Blocking. nc: borrowed; p says
 * what is wrong. */
#ifndef AX_CLI_STREAMS_POOL_H
#define AX_CLI_STREAMS_POOL_H

#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/provision/provision.h"
#include "task/names.h"
#include "task/peer/instance.h"
#include "task/peer/lease.h"

/* Adds the pool with these settings (JSON) and creates its consumers. AX_E_EXISTS: the pool exists;
 * its consumers are created all the same. The errors of provision_pool. */
ax_err pool_add(natsConnection *nc, const char *pool, const char *json, struct problem *p);

struct pool_entry {
    char name[NAME_MAX_CHARS + 1];
    char *json; /* owned; as in the bucket, with blanks for control characters */
};
struct pool_list {
    int count;
    struct pool_entry *list; /* owned; sorted by name */
};
/* Every pool of the bucket. out is freed by pool_list_free in any case. The errors of
 * stored_subjects. */
ax_err pool_list_read(natsConnection *nc, struct pool_list *out, struct problem *p);
void pool_list_free(struct pool_list *l);

/* AX_OK: the bucket has the pool. AX_E_NOT_FOUND: p says so, and which one may be meant.
 * The errors of stored_last. */
ax_err pool_check_exists(natsConnection *nc, const char *pool, struct problem *p);

/* -1: a consumer is missing. */
struct pool_counts {
    int64_t queued[PRIORITIES_MAX];  /* unfinished, those running included */
    int64_t waiting[PRIORITIES_MAX]; /* not yet taken by the dispatcher */
    int64_t handed;                  /* handed over, not fetched by a worker yet */
    int64_t running;                 /* with workers, not acked */
    int64_t pulls;                   /* pull requests of workers that wait */
    int64_t ack_wait_ms;
    int64_t max_ack_pending;
    /* Its consumer on AX_WORK was missing and was made again, so many seconds ago, and with what
     * beside AX's own settings, in words; "": nothing. */
    bool is_made_again;
    int64_t made_again_s;
    char made_again_with[160];
    char leader[INSTANCE_MAX_CHARS + 1]; /* the dispatcher that leads it; "": none */
};
/* The errors of provision_json. */
ax_err pool_count(natsConnection *nc, const struct priorities *ps, const char *pool,
                  struct pool_counts *out, struct problem *p);

#endif
