#include "task/peer/unrecorded.h"

#include <stdlib.h>
#include <string.h>

#include "ax/v1/lease.pb-c.h"
#include "base/memory.h"

static const uint8_t nothing[1]; /* protobuf-c wants a place even for no bytes */

uint8_t *unrecorded_pack(const struct unrecorded_attempt *list, size_t count, size_t *bytes)
{
    Ax__V1__Acked m = AX__V1__ACKED__INIT;
    Ax__V1__AckedAttempt *attempts = calloc(count + 1, sizeof(*attempts)),
                         **places = calloc(count + 1, sizeof(*places));
    uint8_t *buf = NULL;
    if (attempts != NULL && places != NULL) {
        for (size_t i = 0; i < count; i++) {
            ax__v1__acked_attempt__init(&attempts[i]);
            attempts[i].task = (char *)list[i].task;
            attempts[i].attempt = list[i].attempt;
            attempts[i].fence = list[i].fence;
            places[i] = &attempts[i];
        }
        m.attempts = places;
        m.n_attempts = count;
        *bytes = ax__v1__acked__get_packed_size(&m);
        buf = malloc(*bytes + 1);
        if (buf != NULL)
            ax__v1__acked__pack(&m, buf);
    }
    free(attempts);
    free(places);
    return buf;
}

static bool take(struct unrecorded_attempt *out, const Ax__V1__AckedAttempt *in)
{
    if (!name_is_task_id(in->task) || in->attempt == 0 || in->fence == 0)
        return false;
    strcpy(out->task, in->task);
    out->attempt = in->attempt;
    out->fence = in->fence;
    return true;
}

ax_err unrecorded_unpack(struct unrecorded_attempt **list, size_t *count, const void *data,
                         size_t bytes)
{
    bool refused;
    ProtobufCAllocator allocator = memory_allocator(&refused);
    *list = NULL;
    *count = 0;
    Ax__V1__Acked *m = ax__v1__acked__unpack(&allocator, bytes, bytes > 0 ? data : nothing);
    if (m == NULL)
        return refused ? AX_E_NOMEM : AX_E_PROTOCOL;
    ax_err err = m->n_attempts <= UNRECORDED_MAX ? AX_OK : AX_E_PROTOCOL;
    if (err == AX_OK && (*list = calloc(m->n_attempts + 1, sizeof(**list))) == NULL)
        err = AX_E_NOMEM;
    for (size_t i = 0; err == AX_OK && i < m->n_attempts; i++) {
        if (!take(&(*list)[i], m->attempts[i]))
            err = AX_E_PROTOCOL;
    }
    *count = err == AX_OK ? m->n_attempts : 0;
    ax__v1__acked__free_unpacked(m, &allocator);
    if (err != AX_OK) {
        free(*list);
        *list = NULL;
    }
    return err;
}
