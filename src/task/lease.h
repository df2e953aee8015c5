/* What the bucket AX_LEASES holds (protobuf ax.v1.Lease and ax.v1.Dispatcher): who leads a pool,
 * and who is there to lead. The one place that knows the bucket's layout (docs/design.md). Pure. */
#ifndef AX_TASK_LEASE_H
#define AX_TASK_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"

#define INSTANCE_MAX_CHARS 64

/* Under $KV.AX_LEASES.<pool>. */
struct lease {
    char holder[INSTANCE_MAX_CHARS + 1]; /* "": given up */
    char pool[NAME_MAX_CHARS + 1];
    uint64_t epoch;
    int64_t renewed_ns;
    int64_t ttl_ms;
};

/* Under $KV.AX_LEASES.dispatcher.<name>. */
struct presence {
    char name[INSTANCE_MAX_CHARS + 1];
    uint32_t leads;
    int64_t ttl_ms;
    bool leaving;
};

#define LEASE_MAX_BYTES 256
#define LEASE_TTL_MIN_MS 1000LL
#define LEASE_TTL_MAX_MS 60000LL
/* Leases and presences are renewed so many times in their ttl. */
#define LEASE_RENEWALS 3

/* Packs into buf[LEASE_MAX_BYTES]; returns the length. */
size_t lease_pack(const struct lease *l, uint8_t *buf);
size_t presence_pack(const struct presence *p, uint8_t *buf);
/* AX_E_PROTOCOL: not one, or a name or a ttl out of range. Nothing (a KV delete marker) is
 * AX_E_NOT_FOUND. */
ax_err lease_unpack(struct lease *l, const void *data, size_t bytes);
ax_err presence_unpack(struct presence *p, const void *data, size_t bytes);
/* Subjects, into out[SUBJECT_MAX_CHARS]; the length. */
size_t lease_subject(char *out, const char *pool);
size_t presence_subject(char *out, const char *name);
/* [A-Za-z0-9_-]{1,64}. */
bool instance_is_valid(const char *name);
/* A name for this process, as good as unique: "<host>-<pid>-<random>". */
void instance_new(char out[INSTANCE_MAX_CHARS + 1]);

#endif
