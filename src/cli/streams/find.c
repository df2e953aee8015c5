#include "cli/streams/find.h"

#include <stdio.h>
#include <string.h>

#include "base/text/rfc3339.h"
#include "bus/provision/provision.h"
#include "cli/output.h"
#include "cli/streams/recorded.h"
#include "cli/streams/stored.h"
#include "done/record.h"

/* A task that moves between two streams is in both for a moment. But two reads are two moments, and
 * the task may move between them: so it is looked for again before it is called unknown. */
#define LOOKS 3
#define LOOK_AGAIN_MS 150

const char *find_state_text(enum task_state state)
{
    static const char *const texts[] = {"unknown", "queued",    "running", "later",
                                        "done",    "cancelled", "dead"};
    return texts[state];
}

static void copy_text(char *to, size_t cap, const char *from)
{
    snprintf(to, cap, "%s", from ? from : "");
}

static void fill(struct found *f, enum task_state state, const char *stream, const struct stored *s)
{
    struct task_subject subject;
    bool named = name_parse_task_subject(s->subject, &subject);
    f->state = state;
    copy_text(f->stream, sizeof(f->stream), stream);
    f->seq = s->seq;
    f->since_ns = s->time_ns;
    if (named) {
        copy_text(f->pool, sizeof(f->pool), subject.pool);
        copy_text(f->priority, sizeof(f->priority), subject.priority);
    }
    if (!f->priority[0])
        copy_text(f->priority, sizeof(f->priority), stored_header(s->msg, HDR_PRIORITY));
    copy_text(f->key, sizeof(f->key), stored_header(s->msg, HDR_KEY));
    copy_text(f->group, sizeof(f->group), stored_header(s->msg, HDR_GROUP));
    f->ordered = stored_header(s->msg, HDR_ORDERED) != NULL;
    f->attempt = stored_number(s->msg, HDR_ATTEMPT, 1);
    f->max_retry = stored_number(s->msg, HDR_MAX_RETRY, -1);
    f->submitted_ns = stored_number(s->msg, HDR_SUBMITTED, 0);
    copy_text(f->reason, sizeof(f->reason), stored_header(s->msg, HDR_REASON));
}

static ax_err fill_recorded(struct found *f, const char *pool, const struct record *r, uint64_t seq,
                            int64_t stored_ns)
{
    if (pool && strcmp(pool, r->pool) != 0)
        return AX_E_NOT_FOUND;
    f->state = r->state == RECORD_CANCELLED ? TASK_CANCELLED : TASK_DONE;
    copy_text(f->stream, sizeof(f->stream), STREAM_DONE);
    copy_text(f->pool, sizeof(f->pool), r->pool);
    f->seq = seq;
    f->since_ns = r->finished_ns ? r->finished_ns : stored_ns;
    f->attempt = r->attempt;
    f->max_retry = -1;
    f->fence = r->fence;
    return AX_OK;
}

/* The record under the task's own subject. *own_seq: of the message there, even if that is no
 * record any more. One that cannot be read counts as none, as for the daemons. */
static ax_err look_done(natsConnection *nc, const char *pool, const char *id, struct found *f,
                        uint64_t *own_seq, struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    record_subject(subject, id);
    struct stored s;
    *own_seq = 0;
    ax_err err = stored_last(nc, STREAM_DONE, subject, &s, p);
    if (err != AX_OK)
        return err;
    struct record r;
    err = record_unpack(&r, natsMsg_GetData(s.msg), (size_t)natsMsg_GetDataLength(s.msg));
    if (err != AX_E_PROTOCOL)
        *own_seq = s.seq;
    else
        err = AX_E_NOT_FOUND;
    if (err == AX_OK)
        err = fill_recorded(f, pool, &r, s.seq, s.time_ns);
    stored_clear(&s);
    return err;
}

/* One subject in one stream; AX_E_NOT_FOUND: not there. */
static ax_err look(natsConnection *nc, const char *stream, const char *stage, const char *priority,
                   const char *pool, const char *id, enum task_state state, struct found *f,
                   struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    if (priority) {
        snprintf(subject, sizeof(subject), "ax.%s.%s.%s.%s", stage, priority, pool ? pool : "*",
                 id);
    } else
        snprintf(subject, sizeof(subject), "ax.%s.%s.%s", stage, pool ? pool : "*", id);
    struct stored s;
    ax_err err = stored_last(nc, stream, subject, &s, p);
    if (err != AX_OK)
        return err;
    fill(f, state, stream, &s);
    const char *schedule = stored_header(s.msg, HDR_SCHEDULE);
    if (state == TASK_LATER && schedule && strncmp(schedule, "@at ", 4) == 0 &&
        !rfc3339_parse(schedule + 4, &f->next_ns))
        f->next_ns = 0;
    stored_clear(&s);
    return AX_OK;
}

/* An attempt in a queue; running when it was handed over as well. */
static ax_err look_queues(natsConnection *nc, const struct priorities *ps, const char *pool,
                          const char *id, struct found *f, struct problem *p)
{
    for (int i = 0; i < ps->count; i++) {
        ax_err err = look(nc, ps->list[i].stream, "queue", ps->list[i].name, pool, id, TASK_QUEUED,
                          f, p);
        if (err == AX_E_NOT_FOUND)
            continue;
        if (err != AX_OK)
            return err;
        struct found handed = {0};
        err = look(nc, STREAM_WORK, "work", NULL, f->pool, id, TASK_RUNNING, &handed, p);
        if (err == AX_OK && handed.attempt >= f->attempt) {
            f->state = TASK_RUNNING;
            f->since_ns = handed.since_ns;
            f->fence = handed.seq;
        }
        return err == AX_E_NOT_FOUND ? AX_OK : err;
    }
    return AX_E_NOT_FOUND;
}

/* How the batches are looked at. */
struct way {
    bool search;  /* all of them are read, where ingress cannot tell */
    bool is_deaf; /* ingress did not answer: it is not asked again */
};

/* A record in a record batch. Ingress knows in which, except for tasks without a key; all batches
 * are read only when the task is nowhere else. */
static ax_err look_batches(natsConnection *nc, const char *pool, const char *id, uint64_t own_seq,
                           struct way *way, struct found *f, struct problem *p)
{
    struct record r;
    uint64_t seq;
    struct problem ignored;
    bool ask = name_is_keyed(id) && !way->is_deaf;
    ax_err err = ask ? recorded_ask(nc, id, &r, &seq, &ignored) : AX_E_BUSY;
    way->is_deaf = way->is_deaf || err == AX_E_TIMEOUT;
    if (err == AX_E_NOT_FOUND)
        return err;
    if (err != AX_OK)
        err = way->search ? recorded_search(nc, id, own_seq, &r, &seq, p) : AX_E_NOT_FOUND;
    return err != AX_OK ? err : fill_recorded(f, pool, &r, seq, 0);
}

static ax_err look_once(natsConnection *nc, const struct priorities *ps, const char *pool,
                        const char *id, struct way *way, struct found *f, struct problem *p)
{
    uint64_t own_seq;
    ax_err err = look_done(nc, pool, id, f, &own_seq, p);
    /* Cancelled, and it may have been submitted again since: what is there now counts. */
    struct found former = *f;
    bool cancelled = err == AX_OK && f->state == TASK_CANCELLED;
    if (cancelled)
        err = AX_E_NOT_FOUND;
    if (err == AX_E_NOT_FOUND)
        err = look_queues(nc, ps, pool, id, f, p);
    if (err == AX_E_NOT_FOUND)
        err = look(nc, STREAM_LATER, "later", "*", pool, id, TASK_LATER, f, p);
    if (err == AX_E_NOT_FOUND)
        err = look(nc, STREAM_LATER, "due", "*", pool, id, TASK_LATER, f, p);
    if (err == AX_E_NOT_FOUND)
        err = look(nc, STREAM_SPILL, "spill", "*", pool, id, TASK_QUEUED, f, p);
    if (err == AX_E_NOT_FOUND)
        err = look(nc, STREAM_DEAD, "dead", NULL, pool, id, TASK_DEAD, f, p);
    way->search = way->search && !cancelled;
    if (err == AX_E_NOT_FOUND)
        err = look_batches(nc, pool, id, own_seq, way, f, p);
    if (err != AX_E_NOT_FOUND || !cancelled)
        return err;
    *f = former;
    return AX_OK;
}

ax_err find_task(natsConnection *nc, const char *pool, const char *id, struct found *out,
                 struct problem *p)
{
    struct priorities ps;
    ax_err err = provision_priorities(nc, &ps, p);
    if (err != AX_OK)
        return err;
    for (int i = 0; i < LOOKS; i++) {
        *out = (struct found){.max_retry = -1};
        copy_text(out->id, sizeof(out->id), id);
        struct way way = {.search = i + 1 == LOOKS};
        err = look_once(nc, &ps, pool, id, &way, out, p);
        if (err != AX_E_NOT_FOUND)
            return err;
        if (i + 1 < LOOKS)
            nats_Sleep(LOOK_AGAIN_MS);
    }
    *out = (struct found){.max_retry = -1};
    copy_text(out->id, sizeof(out->id), id);
    copy_text(out->pool, sizeof(out->pool), pool);
    return AX_OK;
}

ax_err find_glance_begin(struct find_glance *g, natsConnection *nc, struct problem *p)
{
    *g = (struct find_glance){.nc = nc};
    return provision_priorities(nc, &g->priorities, p);
}

ax_err find_glance(struct find_glance *g, const char *pool, const char *id, struct found *out,
                   struct problem *p)
{
    struct way way = {.is_deaf = g->is_deaf};
    *out = (struct found){.max_retry = -1};
    copy_text(out->id, sizeof(out->id), id);
    ax_err err = look_once(g->nc, &g->priorities, pool, id, &way, out, p);
    g->is_deaf = way.is_deaf;
    return err == AX_E_NOT_FOUND ? AX_OK : err;
}

json_t *find_json(const struct found *f)
{
    json_t *o = json_pack("{s:s,s:s}", "task", f->id, "state", find_state_text(f->state));
    if (!o || f->state == TASK_UNKNOWN)
        return o;
    json_object_set_new(o, "pool", json_string(f->pool));
    json_object_set_new(o, "priority", f->priority[0] ? json_string(f->priority) : json_null());
    json_object_set_new(o, "key", f->key[0] ? output_text(f->key) : json_null());
    if (f->group[0])
        json_object_set_new(o, "group", output_text(f->group));
    if (f->ordered)
        json_object_set_new(o, "ordered", json_true());
    json_object_set_new(o, "attempt", json_integer(f->attempt));
    json_object_set_new(o, "max_retry",
                        f->max_retry >= 0 ? json_integer(f->max_retry) : json_null());
    json_object_set_new(o, "fence", f->fence ? json_integer((json_int_t)f->fence) : json_null());
    json_object_set_new(o, "stream", json_string(f->stream));
    json_object_set_new(o, "seq", json_integer((json_int_t)f->seq));
    json_object_set_new(o, "submitted", output_time(f->submitted_ns));
    json_object_set_new(o, "since", output_time(f->since_ns));
    json_object_set_new(o, "next", output_time(f->next_ns));
    json_object_set_new(o, "reason", f->reason[0] ? output_text(f->reason) : json_null());
    return o;
}
