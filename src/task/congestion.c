#include "task/congestion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ax/v1/groups.pb-c.h"
#include "base/memory.h"

bool congestion_parse_subject(const char *subject, const char *prefix,
                              char priority[NAME_MAX_CHARS + 1], char pool[NAME_MAX_CHARS + 1])
{
    size_t n = strlen(prefix);
    if (strncmp(subject, prefix, n) != 0)
        return false;
    const char *first = subject + n, *dot = strchr(first, '.');
    if (dot == NULL || !name_is_valid_n(first, (size_t)(dot - first)) || !name_is_valid(dot + 1))
        return false;
    snprintf(priority, NAME_MAX_CHARS + 1, "%.*s", (int)(dot - first), first);
    snprintf(pool, NAME_MAX_CHARS + 1, "%s", dot + 1);
    return true;
}

static const uint8_t nothing[1]; /* protobuf-c wants a place even for no bytes */

static bool take_group(char out[GROUP_MAX_BYTES + 1], const ProtobufCBinaryData *in)
{
    if (in->len > GROUP_MAX_BYTES || (in->len > 0 && memchr(in->data, '\0', in->len) != NULL))
        return false;
    if (in->len > 0)
        memcpy(out, in->data, in->len);
    out[in->len] = '\0';
    return true;
}

static ProtobufCBinaryData bytes_of(const char *group)
{
    return (ProtobufCBinaryData){.len = strlen(group), .data = (uint8_t *)group};
}

size_t refused_pack(const struct refused *r, uint8_t buf[REFUSED_MAX_BYTES])
{
    Ax__V1__Refused m = AX__V1__REFUSED__INIT;
    m.group = bytes_of(r->group);
    m.count = r->count;
    return ax__v1__refused__pack(&m, buf);
}

ax_err refused_unpack(struct refused *r, const void *data, size_t bytes)
{
    bool refused;
    ProtobufCAllocator allocator = memory_allocator(&refused);
    Ax__V1__Refused *m = ax__v1__refused__unpack(&allocator, bytes, bytes > 0 ? data : nothing);
    if (m == NULL)
        return refused ? AX_E_NOMEM : AX_E_PROTOCOL;
    ax_err err = take_group(r->group, &m->group) ? AX_OK : AX_E_PROTOCOL;
    r->count = m->count;
    ax__v1__refused__free_unpacked(m, &allocator);
    return err;
}

uint8_t *occupancy_pack(const struct held *h, size_t *bytes)
{
    Ax__V1__Held m = AX__V1__HELD__INIT;
    Ax__V1__HeldGroup *groups = calloc(h->count + 1, sizeof(*groups)),
                      **list = calloc(h->count + 1, sizeof(*list));
    uint8_t *buf = NULL;
    if (groups != NULL && list != NULL) {
        for (size_t i = 0; i < h->count; i++) {
            ax__v1__held_group__init(&groups[i]);
            groups[i].group = bytes_of(h->groups[i].group);
            groups[i].held = h->groups[i].held;
            list[i] = &groups[i];
        }
        m.groups = list;
        m.n_groups = h->count;
        m.others = h->others;
        *bytes = ax__v1__held__get_packed_size(&m);
        buf = malloc(*bytes + 1);
        if (buf != NULL)
            ax__v1__held__pack(&m, buf);
    }
    free(groups);
    free(list);
    return buf;
}

ax_err occupancy_unpack(struct held *h, const void *data, size_t bytes)
{
    bool refused;
    *h = (struct held){0};
    ProtobufCAllocator allocator = memory_allocator(&refused);
    Ax__V1__Held *m = ax__v1__held__unpack(&allocator, bytes, bytes > 0 ? data : nothing);
    if (m == NULL)
        return refused ? AX_E_NOMEM : AX_E_PROTOCOL;
    ax_err err = m->n_groups <= OCCUPANCY_GROUPS_MAX ? AX_OK : AX_E_PROTOCOL;
    if (err == AX_OK && (h->groups = calloc(m->n_groups + 1, sizeof(*h->groups))) == NULL)
        err = AX_E_NOMEM;
    for (size_t i = 0; err == AX_OK && i < m->n_groups; i++) {
        if (!take_group(h->groups[i].group, &m->groups[i]->group))
            err = AX_E_PROTOCOL;
        h->groups[i].held = m->groups[i]->held;
    }
    h->count = m->n_groups;
    h->others = m->others;
    ax__v1__held__free_unpacked(m, &allocator);
    if (err != AX_OK)
        held_clear(h);
    return err;
}

void held_clear(struct held *h)
{
    free(h->groups);
    *h = (struct held){0};
}
