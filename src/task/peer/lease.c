#include "task/peer/lease.h"

#include <stdio.h>
#include <string.h>

#include "ax/v1/lease.pb-c.h"
#include "base/proto.h"
#include "task/peer/instance.h"

size_t lease_pack(const struct lease *l, uint8_t *buf)
{
    Ax__V1__Lease m = AX__V1__LEASE__INIT;
    m.holder = (char *)l->holder;
    m.pool = (char *)l->pool;
    m.epoch = l->epoch;
    m.renewed_ns = l->renewed_ns;
    m.ttl_ms = l->ttl_ms;
    return ax__v1__lease__pack(&m, buf);
}

bool lease_ttl_is_valid(int64_t ttl_ms)
{
    return ttl_ms >= LEASE_TTL_MIN_MS && ttl_ms <= LEASE_TTL_MAX_MS;
}

ax_err lease_unpack(struct lease *l, const void *data, size_t bytes)
{
    if (bytes == 0)
        return AX_E_NOT_FOUND;
    ax_err err;
    Ax__V1__Lease *m = proto_unpack(&ax__v1__lease__descriptor, data, bytes, &err);
    if (m == NULL)
        return err;
    err = AX_E_PROTOCOL;
    if ((m->holder[0] == '\0' || instance_is_valid(m->holder)) && name_is_valid(m->pool) &&
        lease_ttl_is_valid(m->ttl_ms)) {
        *l = (struct lease){.epoch = m->epoch, .renewed_ns = m->renewed_ns, .ttl_ms = m->ttl_ms};
        strcpy(l->holder, m->holder);
        strcpy(l->pool, m->pool);
        err = AX_OK;
    }
    proto_free(m);
    return err;
}

size_t lease_subject(char *out, const char *pool)
{
    return (size_t)snprintf(out, SUBJECT_MAX_CHARS, LEASES_PREFIX "%s", pool);
}
