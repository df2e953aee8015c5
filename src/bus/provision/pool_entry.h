/* A pool's entry in the bucket KV_AX_POOLS, as daemons add it: by
 * compare-and-set, without waiting. Loop's lock held. */
#ifndef AX_BUS_PROVISION_POOL_ENTRY_H
#define AX_BUS_PROVISION_POOL_ENTRY_H

#include <nats/nats.h>
#include <stdbool.h>

#include "base/error.h"
#include "bus/pipeline.h"

/* AX_OK: the entry was added. AX_E_EXISTS: the pool has one, with whatever settings. Any other
 * error: it was not added, and why says what the server answered. pool, why: borrowed for the
 * call. */
typedef void (*pool_entry_cb)(void *arg, const char *pool, ax_err err, const char *why);

/* Adds an entry with these settings (JSON, copied), unless the pool has an entry. A removed entry
 * leaves a marker in the bucket, which the new one follows. pool: a valid name, copied. cb is
 * called once, unless an error is returned: AX_E_BUSY, AX_E_NOMEM, AX_E_DISCONNECTED. */
#define POOL_ENTRY_DEFAULTS "{}"
ax_err pool_entry_add(struct pipeline *p, const char *pool, const char *json, pool_entry_cb cb,
                      void *arg);

/* msg is no entry but the marker of one that was removed. msg: borrowed. */
bool pool_entry_is_removal(natsMsg *msg);
/* The same, and its former values are removed as well (`nats kv purge`): the pool is to go even
 * when it has tasks. */
bool pool_entry_is_purge(natsMsg *msg);

/* msg was published on a condition. Everybody who subscribes to the bucket receives it, whether the
 * bucket takes it or refuses it: only what is stored tells. msg: borrowed. */
bool pool_entry_is_conditional(natsMsg *msg);

#endif
