/* Provisioning for commands: what a daemon's provisioner does, by the same code, in calls that
 * block until it is done; and blocking requests to the JetStream API. nc: borrowed. p (may be NULL)
 * says what is wrong. */
#ifndef AX_BUS_PROVISION_PROVISION_H
#define AX_BUS_PROVISION_PROVISION_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/jserr.h"
#include "bus/provision/priorities.h"
#include "bus/provision/stream_plan.h"

/* Creates every stream of stream_plan_assets that does not exist; replicas > 1 replaces
 * num_replicas of the new ones. created (may be NULL): called for each stream made. */
ax_err provision_streams(natsConnection *nc, int replicas,
                         void (*created)(void *arg, const char *stream), void *arg,
                         struct problem *p);

/* Tells of each of AX's streams, priorities that were added included, that has fewer replicas than
 * these. */
ax_err provision_short_of_replicas(natsConnection *nc, int replicas,
                                   void (*found)(void *arg, const char *stream, int replicas),
                                   void *arg, struct problem *p);

ax_err provision_priorities(natsConnection *nc, struct priorities *out, struct problem *p);

/* A pool's consumers, and the feeders': see consumers.h. */
ax_err provision_pool(natsConnection *nc, const struct priorities *ps, const char *pool,
                      struct problem *p);
ax_err provision_feeders(natsConnection *nc, const struct priorities *ps, struct problem *p);

/* Adds pool to KV_AX_POOLS with these settings (JSON) unless it exists (AX_E_EXISTS). */
ax_err provision_add_pool(natsConnection *nc, const char *pool, const char *json,
                          struct problem *p);

/* One JetStream API request; what: the subject behind "$JS.API."; payload (NULL: none) is taken.
 * *reply: new reference. AX_E_SERVER: *err_code (may be NULL) is set. */
ax_err provision_json(natsConnection *nc, const char *what, json_t *payload, json_t **reply,
                      int *err_code, struct problem *p);

#endif
