/* The pools that have an entry in KV_AX_POOLS, followed live; ingress adds those that tasks name
 * first. Lock held in every call. */
#ifndef AX_INGRESS_POOLS_H
#define AX_INGRESS_POOLS_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/loop.h"
#include "bus/pipeline.h"

struct pools;

/* The bucket need not be there yet. */
ax_err pools_start(struct pools **out, struct wire *wire, struct pipeline *p, struct loop *l);
/* The bucket has been read once: "unknown" is a word to rely on. */
bool pools_are_read(const struct pools *ps);
bool pools_has(const struct pools *ps, const char *name);
/* The weight of a group of a pool, by the pool's settings; group "": of the tasks that name
 * none. */
int32_t pools_weight(const struct pools *ps, const char *pool, const char *group);
/* Adds an entry with every setting at its default; takes effect at once here, and in the bucket as
 * soon as it answers. */
void pools_add(struct pools *ps, const char *name);
/* Reads the bucket again: after a reconnect, or when it was recreated. */
void pools_refresh(struct pools *ps);

#endif
