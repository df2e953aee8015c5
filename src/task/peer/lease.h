/* Who leads a pool (protobuf ax.v1.Lease), in the bucket AX_LEASES under the pool's name
 * (docs/design/leadership.md, "The lease of leadership"). Pure. */
#ifndef AX_TASK_PEER_LEASE_H
#define AX_TASK_PEER_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"
#include "task/peer/instance.h"

struct lease {
    char holder[INSTANCE_MAX_CHARS + 1]; /* "": given up */
    char pool[NAME_MAX_CHARS + 1];
    uint64_t epoch;
    int64_t renewed_ns;
    int64_t ttl_ms;
};

#define LEASE_MAX_BYTES 256
#define LEASE_TTL_MIN_MS 1000LL
#define LEASE_TTL_MAX_MS 60000LL
/* Leases and presences are renewed so many times in their ttl. */
#define LEASE_RENEWALS 3

/* Packs into buf[LEASE_MAX_BYTES]; returns the length. */
size_t lease_pack(const struct lease *l, uint8_t *buf);
/* AX_E_PROTOCOL: it is no lease, or a name or its ttl is out of range. AX_E_NOT_FOUND: nothing (a
 * KV delete marker). AX_E_NOMEM. *l is set with AX_OK only. */
ax_err lease_unpack(struct lease *l, const void *data, size_t bytes);
/* LEASE_TTL_MIN_MS … LEASE_TTL_MAX_MS? */
bool lease_ttl_is_valid(int64_t ttl_ms);
/* The subject, into out[SUBJECT_MAX_CHARS]; its length. pool: valid. */
size_t lease_subject(char *out, const char *pool);

#endif
