#include "task/lease.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ax/v1/lease.pb-c.h"
#include "base/memory.h"

#define HOST_CHARS 24

bool instance_is_valid(const char *name)
{
    size_t n = strlen(name);
    if (n < 1 || n > INSTANCE_MAX_CHARS)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '-')
            return false;
    }
    return true;
}

void instance_new(char out[INSTANCE_MAX_CHARS + 1])
{
    char host[HOST_CHARS + 1] = "", id[TASK_ID_CHARS + 1];
    if (gethostname(host, sizeof(host)) != 0 || host[0] == '\0')
        strcpy(host, "host");
    host[HOST_CHARS] = '\0';
    for (char *c = host; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c))
            *c = '-';
    }
    name_new_id(id);
    snprintf(out, INSTANCE_MAX_CHARS + 1, "%s-%ld-%.22s", host, (long)getpid(), id);
}

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

size_t presence_pack(const struct presence *p, uint8_t *buf)
{
    Ax__V1__Dispatcher m = AX__V1__DISPATCHER__INIT;
    m.name = (char *)p->name;
    m.leads = p->leads;
    m.ttl_ms = p->ttl_ms;
    m.leaving = p->leaving;
    return ax__v1__dispatcher__pack(&m, buf);
}

static bool ttl_is_valid(int64_t ttl_ms)
{
    return ttl_ms >= LEASE_TTL_MIN_MS && ttl_ms <= LEASE_TTL_MAX_MS;
}

ax_err lease_unpack(struct lease *l, const void *data, size_t bytes)
{
    if (bytes == 0)
        return AX_E_NOT_FOUND;
    bool refused;
    ProtobufCAllocator allocator = memory_allocator(&refused);
    Ax__V1__Lease *m = ax__v1__lease__unpack(&allocator, bytes, data);
    if (m == NULL)
        return refused ? AX_E_NOMEM : AX_E_PROTOCOL;
    ax_err err = AX_E_PROTOCOL;
    if ((m->holder[0] == '\0' || instance_is_valid(m->holder)) && name_is_valid(m->pool) &&
        ttl_is_valid(m->ttl_ms)) {
        *l = (struct lease){.epoch = m->epoch, .renewed_ns = m->renewed_ns, .ttl_ms = m->ttl_ms};
        strcpy(l->holder, m->holder);
        strcpy(l->pool, m->pool);
        err = AX_OK;
    }
    ax__v1__lease__free_unpacked(m, &allocator);
    return err;
}

ax_err presence_unpack(struct presence *p, const void *data, size_t bytes)
{
    if (bytes == 0)
        return AX_E_NOT_FOUND;
    bool refused;
    ProtobufCAllocator allocator = memory_allocator(&refused);
    Ax__V1__Dispatcher *m = ax__v1__dispatcher__unpack(&allocator, bytes, data);
    if (m == NULL)
        return refused ? AX_E_NOMEM : AX_E_PROTOCOL;
    ax_err err = AX_E_PROTOCOL;
    if (instance_is_valid(m->name) && ttl_is_valid(m->ttl_ms)) {
        *p = (struct presence){.leads = m->leads, .ttl_ms = m->ttl_ms, .leaving = m->leaving};
        strcpy(p->name, m->name);
        err = AX_OK;
    }
    ax__v1__dispatcher__free_unpacked(m, &allocator);
    return err;
}

size_t lease_subject(char *out, const char *pool)
{
    return (size_t)snprintf(out, SUBJECT_MAX_CHARS, LEASES_PREFIX "%s", pool);
}

size_t presence_subject(char *out, const char *name)
{
    return (size_t)snprintf(out, SUBJECT_MAX_CHARS, DISPATCHERS_PREFIX "%s", name);
}
