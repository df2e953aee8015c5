#include "task/peer/presence.h"
#include "task/peer/instance.h"

#include <stdio.h>
#include <string.h>

#include "ax/v1/lease.pb-c.h"
#include "base/proto.h"
#include "task/peer/instance.h"
#include "task/peer/lease.h"

size_t presence_pack(const struct presence *p, uint8_t *buf)
{
    Ax__V1__Dispatcher m = AX__V1__DISPATCHER__INIT;
    m.name = (char *)p->name;
    m.leads = p->leads;
    m.ttl_ms = p->ttl_ms;
    m.leaving = p->leaving;
    return ax__v1__dispatcher__pack(&m, buf);
}

ax_err presence_unpack(struct presence *p, const void *data, size_t bytes)
{
    if (bytes == 0)
        return AX_E_NOT_FOUND;
    ax_err err;
    Ax__V1__Dispatcher *m = proto_unpack(&ax__v1__dispatcher__descriptor, data, bytes, &err);
    if (m == NULL)
        return err;
    err = AX_E_PROTOCOL;
    if (instance_is_valid(m->name) && lease_ttl_is_valid(m->ttl_ms)) {
        *p = (struct presence){.leads = m->leads, .ttl_ms = m->ttl_ms, .leaving = m->leaving};
        strcpy(p->name, m->name);
        err = AX_OK;
    }
    proto_free(m);
    return err;
}

size_t presence_subject(char *out, const char *name)
{
    return (size_t)snprintf(out, SUBJECT_MAX_CHARS, DISPATCHERS_PREFIX "%s", name);
}
