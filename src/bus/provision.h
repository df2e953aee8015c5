/* Streams, buckets and consumers: creating what is missing, never undoing what an operator changed
 * (docs/design.md). Blocking calls (a request each) for start-up, the CLI, and the daemons' keeper
 * thread; loop lock NOT held. */
#ifndef AX_BUS_PROVISION_H
#define AX_BUS_PROVISION_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/jserr.h"
#include "task/names.h"

/* The JSON files of streams/, compiled in as they stand. */
struct provision_asset {
    const char *name; /* stream name */
    const char *json;
};
extern const struct provision_asset provision_assets[];
extern const int provision_asset_count;

/* Creates every stream of provision_assets that does not exist; replicas > 1 replaces num_replicas
 * of the new ones. created (may be NULL): called for each stream made. seen (NULL: none): a bit for
 * each asset that this process has found, 0 at first. One of those that is gone now was deleted,
 * and is looked for again a second later before it is made: a server that is still deleting a
 * stream tells everybody that it is gone, and then takes the directory of the new one away. */
ax_err provision_streams(natsConnection *nc, int replicas, uint64_t *seen,
                         void (*created)(void *arg, const char *stream), void *arg,
                         struct problem *p);

/* Tells of each of AX's streams, priorities that were added included, that has fewer replicas than
 * these. */
ax_err provision_short_of_replicas(natsConnection *nc, int replicas,
                                   void (*found)(void *arg, const char *stream, int replicas),
                                   void *arg, struct problem *p);

/* Priorities: streams whose metadata has ax.rank. */
#define PRIORITIES_MAX 16
struct priority {
    char name[NAME_MAX_CHARS + 1]; /* the token after ax.queue. in the stream's subject */
    char stream[64];
    int rank;   /* lower = first */
    bool spill; /* ax.on_full = spill */
    /* ax.group_share: part of max_msgs that groups share when it is full, 0 (not at all) … 1 */
    double group_share;
    int64_t max_msgs;  /* as the server has it now; -1 unlimited */
    uint64_t messages; /* at the time of reading */
};
struct priorities {
    int count; /* sorted by rank, then name */
    struct priority list[PRIORITIES_MAX];
};
ax_err provision_priorities(natsConnection *nc, struct priorities *out, struct problem *p);
/* Index of the named priority, -1: none. */
int priorities_find(const struct priorities *ps, const char *name);

/* A pool's consumers: <pool> on every queue stream (filter ax.queue.<priority>.<pool>.>, explicit
 * ack, no max_ack_pending, ack_wait = AX_WORK's + a margin) and on AX_WORK (filter
 * ax.work.<pool>.>, max_deliver 1). Creates what is missing, repairs max_deliver of the AX_WORK
 * one, brings the queue consumers' ack_wait up to date; leaves the rest as operators set it.
 * repaired (may be NULL) is told of each change in one line. */
ax_err provision_pool(natsConnection *nc, const struct priorities *ps, const char *pool,
                      void (*repaired)(void *arg, const char *what), void *arg, struct problem *p);

/* The feeders' consumers: "feeder-<priority>" on AX_LATER (filter ax.due.<priority>.>) and AX_SPILL
 * (filter ax.spill.<priority>.>). */
ax_err provision_feeders(natsConnection *nc, const struct priorities *ps, struct problem *p);

/* Adds pool to KV_AX_POOLS with these settings (JSON) unless it is there (AX_E_EXISTS). */
ax_err provision_add_pool(natsConnection *nc, const char *pool, const char *json,
                          struct problem *p);

/* One JetStream API request: subject without "$JS.API."; payload JSON text ("" for none). *reply:
 * malloc'ed JSON text, caller frees. AX_E_SERVER: *err_code set, p has the description. */
ax_err provision_api(natsConnection *nc, const char *what, const char *payload, int64_t timeout_ms,
                     char **reply, int *err_code, struct problem *p);

#define PROVISION_TIMEOUT_MS 5000

/* provision_api with a JSON value; payload (may be NULL) is taken, also on failure. *reply: new
 * reference. */
ax_err provision_json(natsConnection *nc, const char *what, json_t *payload, json_t **reply,
                      int *err_code, struct problem *p);
/* Reads an answer: AX_OK and *out, or AX_E_SERVER with *err_code, or AX_E_PROTOCOL. what: named in
 * the problem. */
ax_err provision_read_answer(const char *what, const char *data, size_t bytes, json_t **out,
                             int *err_code, struct problem *p);
/* nats.c's word about a request that got no answer. */
ax_err provision_no_answer(natsStatus s, const char *what, struct problem *p);

#endif
