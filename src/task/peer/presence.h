/* A dispatcher that runs and can lead pools (protobuf ax.v1.Dispatcher), in the bucket AX_LEASES
 * under dispatcher.<name>. Pure. */
#ifndef AX_TASK_PEER_PRESENCE_H
#define AX_TASK_PEER_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/peer/instance.h"

struct presence {
    char name[INSTANCE_MAX_CHARS + 1];
    uint32_t leads; /* pools */
    int64_t ttl_ms; /* LEASE_TTL_MIN_MS … LEASE_TTL_MAX_MS */
    bool leaving;   /* it gives its pools up */
};

#define PRESENCE_MAX_BYTES 256

/* Packs into buf[PRESENCE_MAX_BYTES]; returns the length. */
size_t presence_pack(const struct presence *p, uint8_t *buf);
/* AX_E_PROTOCOL: it is no presence, or its name or ttl is out of range. AX_E_NOT_FOUND: nothing (a
 * KV delete marker). AX_E_NOMEM. *p is set with AX_OK only. */
ax_err presence_unpack(struct presence *p, const void *data, size_t bytes);
/* The subject, into out[SUBJECT_MAX_CHARS]; its length. name: valid. */
size_t presence_subject(char *out, const char *name);

#endif
