#include "task/peer/unrecorded.h"

#include <stdlib.h>
#include <string.h>

#include "ax/v1/lease.pb-c.h"
#include "base/proto.h"

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
        buf = proto_pack(&m, bytes);
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
    ax_err err;
    *list = NULL;
    *count = 0;
    Ax__V1__Acked *m = proto_unpack(&ax__v1__acked__descriptor, data, bytes, &err);
    if (m == NULL)
        return err;
    err = m->n_attempts <= UNRECORDED_MAX ? AX_OK : AX_E_PROTOCOL;
    if (err == AX_OK && (*list = calloc(m->n_attempts + 1, sizeof(**list))) == NULL)
        err = AX_E_NOMEM;
    for (size_t i = 0; err == AX_OK && i < m->n_attempts; i++) {
        if (!take(&(*list)[i], m->attempts[i]))
            err = AX_E_PROTOCOL;
    }
    *count = err == AX_OK ? m->n_attempts : 0;
    proto_free(m);
    if (err != AX_OK) {
        free(*list);
        *list = NULL;
    }
    return err;
}
