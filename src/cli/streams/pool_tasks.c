#include "cli/streams/pool_tasks.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "bus/api.h"
#include "cli/streams/server_clock.h"
#include "cli/streams/stored.h"
#include "task/names.h"
#include "task/task_dead.h"

/* ---- counting */

/* Messages on the subjects that match filter. */
static ax_err count(natsConnection *nc, const char *stream, const char *filter, int64_t *out,
                    struct problem *p)
{
    size_t seen = 0, total = 1, got = 1;
    while (seen < total && got > 0) {
        json_t *reply, *number;
        const char *subject;
        ax_err err = stored_request(
            nc, "STREAM.INFO", stream,
            json_pack("{s:s,s:I}", "subjects_filter", filter, "offset", (json_int_t)seen), &reply,
            NULL, p);
        if (err != AX_OK)
            return err;
        json_t *subjects = json_object_get(json_object_get(reply, "state"), "subjects");
        json_object_foreach(subjects, subject, number)
            *out += json_integer_value(number);
        got = json_object_size(subjects);
        seen += got;
        total = (size_t)api_integer(reply, "total", 0);
        json_decref(reply);
    }
    return AX_OK;
}

static ax_err count_stage(natsConnection *nc, const char *stream, const char *stage,
                          const char *pool, int64_t *out, struct problem *p)
{
    char filter[SUBJECT_MAX_CHARS];
    snprintf(filter, sizeof(filter), "ax.%s.%s.>", stage, pool);
    return count(nc, stream, filter, out, p);
}

ax_err pool_tasks_count(natsConnection *nc, const struct priorities *ps, const char *pool,
                        struct pool_tasks *out, struct problem *p)
{
    *out = (struct pool_tasks){0};
    /* In the order in which tasks move, so that one that moves meanwhile is counted twice rather
     * than not at all. */
    ax_err err = count_stage(nc, STREAM_SPILL, "spill.*", pool, &out->spilled, p);
    if (err == AX_OK)
        err = count_stage(nc, STREAM_LATER, "later.*", pool, &out->later, p);
    if (err == AX_OK)
        err = count_stage(nc, STREAM_LATER, "due.*", pool, &out->later, p);
    for (int i = 0; err == AX_OK && i < ps->count; i++)
        err = count_stage(nc, ps->list[i].stream, "queue.*", pool, &out->queued, p);
    if (err == AX_OK)
        err = count_stage(nc, STREAM_WORK, "work", pool, &out->running, p);
    out->queued = out->queued > out->running ? out->queued - out->running : 0;
    return err;
}

int64_t pool_tasks_sum(const struct pool_tasks *n)
{
    return n->queued + n->running + n->later + n->spilled;
}

/* ---- making dead letters */

static ax_err write_letter(natsConnection *nc, const char *stream, const struct stored *s,
                           const char *reason, struct clock *clock, struct problem *p)
{
    natsMsg *msg = NULL;
    const struct task_dead_source from = {.stream = stream,
                                          .subject = s->subject,
                                          .seq = s->seq,
                                          .time_ns = s->time_ns,
                                          .msg = s->msg};
    ax_err err = task_dead_of_stored(&from, NULL, reason, clock_ax_ns(clock),
                                     natsConnection_GetMaxPayload(nc), &msg);
    if (err != AX_OK)
        return problem_set(p, err, "%s: %s", s->subject, ax_err_text(err));
    err = stored_publish(nc, msg, NULL, p);
    natsMsg_Destroy(msg);
    return err;
}

/* reason NULL: the messages only go. */
static ax_err empty(natsConnection *nc, const char *stream, const char *filter, const char *reason,
                    struct clock *clock, int64_t *buried, struct problem *p)
{
    uint64_t from = 1;
    for (;;) {
        struct stored s;
        ax_err err = stored_next(nc, stream, filter, from, &s, p);
        if (err == AX_OK && reason != NULL)
            err = write_letter(nc, stream, &s, reason, clock, p);
        else if (err == AX_E_NOT_FOUND)
            return AX_OK;
        if (err == AX_OK) {
            err = stored_delete(nc, stream, s.seq, p);
            *buried += reason != NULL && err == AX_OK;
        }
        from = s.seq + 1;
        stored_clear(&s);
        if (err != AX_OK && err != AX_E_NOT_FOUND)
            return err;
    }
}

static ax_err empty_stage(natsConnection *nc, const char *stream, const char *stage,
                          const char *pool, const char *reason, struct clock *clock,
                          int64_t *buried, struct problem *p)
{
    char filter[SUBJECT_MAX_CHARS];
    snprintf(filter, sizeof(filter), "ax.%s.%s.>", stage, pool);
    return empty(nc, stream, filter, reason, clock, buried, p);
}

ax_err pool_tasks_bury(natsConnection *nc, const struct priorities *ps, const char *pool,
                       const char *reason, int64_t *buried, struct problem *p)
{
    struct clock clock;
    ax_err err = server_clock_read(nc, STREAM_DEAD, &clock, p);
    if (err == AX_OK)
        err = empty_stage(nc, STREAM_SPILL, "spill.*", pool, reason, &clock, buried, p);
    if (err == AX_OK)
        err = empty_stage(nc, STREAM_LATER, "later.*", pool, reason, &clock, buried, p);
    if (err == AX_OK)
        err = empty_stage(nc, STREAM_LATER, "due.*", pool, reason, &clock, buried, p);
    for (int i = 0; err == AX_OK && i < ps->count; i++)
        err = empty_stage(nc, ps->list[i].stream, "queue.*", pool, reason, &clock, buried, p);
    /* Rule 1: a hand-off goes only after its queue message. */
    if (err == AX_OK)
        err = empty_stage(nc, STREAM_WORK, "work", pool, NULL, &clock, buried, p);
    return err;
}
