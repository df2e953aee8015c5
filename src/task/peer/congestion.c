#include "task/peer/congestion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ax/v1/groups.pb-c.h"
#include "base/proto.h"

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

size_t congestion_pack_refusal(const struct congestion_refusal *r,
                               uint8_t buf[CONGESTION_REFUSAL_MAX_BYTES])
{
    Ax__V1__Refused m = AX__V1__REFUSED__INIT;
    m.group = bytes_of(r->group);
    m.count = r->count;
    return ax__v1__refused__pack(&m, buf);
}

ax_err congestion_unpack_refusal(struct congestion_refusal *r, const void *data, size_t bytes)
{
    ax_err err;
    Ax__V1__Refused *m = proto_unpack(&ax__v1__refused__descriptor, data, bytes, &err);
    if (m == NULL)
        return err;
    err = take_group(r->group, &m->group) ? AX_OK : AX_E_PROTOCOL;
    r->count = m->count;
    proto_free(m);
    return err;
}

uint8_t *congestion_pack_occupancy(const struct congestion_occupancy *h, size_t *bytes)
{
    Ax__V1__Held m = AX__V1__HELD__INIT;
    Ax__V1__HeldGroup *groups = calloc(h->count + 1, sizeof(*groups)),
                      **list = calloc(h->count + 1, sizeof(*list));
    uint8_t *buf = NULL;
    if (groups != NULL && list != NULL) {
        for (size_t i = 0; i < h->count; i++) {
            ax__v1__held_group__init(&groups[i]);
            groups[i].group = bytes_of(h->groups[i].group);
            groups[i].held = h->groups[i].tasks;
            list[i] = &groups[i];
        }
        m.groups = list;
        m.n_groups = h->count;
        m.others = h->others;
        buf = proto_pack(&m, bytes);
    }
    free(groups);
    free(list);
    return buf;
}

ax_err congestion_unpack_occupancy(struct congestion_occupancy *h, const void *data, size_t bytes)
{
    *h = (struct congestion_occupancy){0};
    ax_err err;
    Ax__V1__Held *m = proto_unpack(&ax__v1__held__descriptor, data, bytes, &err);
    if (m == NULL)
        return err;
    err = m->n_groups <= CONGESTION_GROUPS_MAX ? AX_OK : AX_E_PROTOCOL;
    if (err == AX_OK && (h->groups = calloc(m->n_groups + 1, sizeof(*h->groups))) == NULL)
        err = AX_E_NOMEM;
    for (size_t i = 0; err == AX_OK && i < m->n_groups; i++) {
        if (!take_group(h->groups[i].group, &m->groups[i]->group))
            err = AX_E_PROTOCOL;
        h->groups[i].tasks = m->groups[i]->held;
    }
    h->count = m->n_groups;
    h->others = m->others;
    proto_free(m);
    if (err != AX_OK)
        congestion_clear_occupancy(h);
    return err;
}

void congestion_clear_occupancy(struct congestion_occupancy *h)
{
    free(h->groups);
    *h = (struct congestion_occupancy){0};
}
