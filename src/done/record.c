#include "done/record.h"

#include <stdio.h>
#include <string.h>

#include "ax/v1/record.pb-c.h"
#include "base/proto.h"

_Static_assert((int)RECORD_DONE == AX__V1__RECORD__STATE__STATE_DONE, "the schema's numbers");
_Static_assert((int)RECORD_CANCELLED == AX__V1__RECORD__STATE__STATE_CANCELLED,
               "the schema's numbers");
_Static_assert((int)RECORD_FIRED == AX__V1__RECORD__STATE__STATE_FIRED, "the schema's numbers");

size_t record_pack(const struct record *r, uint8_t *buf, size_t cap)
{
    Ax__V1__Record m = AX__V1__RECORD__INIT;
    m.state = (Ax__V1__Record__State)r->state;
    m.pool = (char *)r->pool;
    m.attempt = r->attempt;
    m.fence = r->fence;
    m.finished_ns = r->finished_ns;
    m.submitted = r->submitted;
    m.task = (char *)r->task;
    m.priority = (char *)r->priority;
    size_t bytes = ax__v1__record__get_packed_size(&m);
    return bytes <= cap ? ax__v1__record__pack(&m, buf) : 0;
}

ax_err record_unpack(struct record *r, const void *data, size_t bytes)
{
    if (bytes == 0) {
        return AX_E_NOT_FOUND;
    }
    ax_err err;
    Ax__V1__Record *m = proto_unpack(&ax__v1__record__descriptor, data, bytes, &err);
    if (m == NULL)
        return err;
    err = AX_E_PROTOCOL;
    bool fired = m->state == AX__V1__RECORD__STATE__STATE_FIRED;
    bool ended = m->state == AX__V1__RECORD__STATE__STATE_DONE ||
                 m->state == AX__V1__RECORD__STATE__STATE_CANCELLED;
    if (name_is_valid(m->pool) &&
        (ended || (fired && name_is_task_id(m->task) && name_is_valid(m->priority)))) {
        *r = (struct record){.state = (enum record_state)m->state,
                             .attempt = m->attempt,
                             .fence = m->fence,
                             .finished_ns = m->finished_ns,
                             .submitted = m->submitted};
        strcpy(r->pool, m->pool);
        if (fired) {
            strcpy(r->task, m->task);
            strcpy(r->priority, m->priority);
        }
        err = AX_OK;
    }
    proto_free(m);
    return err;
}

size_t record_subject(char *out, const char *id)
{
    return (size_t)snprintf(out, SUBJECT_MAX_CHARS, DONE_PREFIX "%s", id);
}

size_t record_subject_fired(char *out, const char *schedule_id)
{
    return (size_t)snprintf(out, SUBJECT_MAX_CHARS, DONE_PREFIX "cron-%s", schedule_id);
}
