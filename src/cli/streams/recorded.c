#include "cli/streams/recorded.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "bus/connect.h"
#include "cli/streams/stored_each.h"
#include "cli/streams/stored_subjects.h"

#define ASK_TIMEOUT_MS 4000
#define BATCH 256

ax_err recorded_ask(natsConnection *nc, const char *id, struct record *r, uint64_t *seq,
                    struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    natsMsg *reply = NULL;
    snprintf(subject, sizeof(subject), RECORD_PREFIX "%s", id);
    natsStatus s = natsConnection_RequestString(&reply, nc, subject, "", ASK_TIMEOUT_MS);
    if (s != NATS_OK)
        return problem_set(p, connect_error(s), "%s: %s", subject, natsStatus_GetText(s));
    json_t *root = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0,
                              NULL);
    const char *state = json_string_value(json_object_get(root, "state"));
    const char *pool = json_string_value(json_object_get(root, "pool"));
    ax_err err = AX_E_BUSY;
    if (state && strcmp(state, "unknown") == 0) {
        err = AX_E_NOT_FOUND;
    } else if (state && pool && name_is_valid(pool)) {
        *r = (struct record){.state = strcmp(state, "cancelled") == 0 ? RECORD_CANCELLED
                                                                      : RECORD_DONE};
        snprintf(r->pool, sizeof(r->pool), "%s", pool);
        r->attempt = (uint32_t)json_integer_value(json_object_get(root, "attempt"));
        r->fence = (uint64_t)json_integer_value(json_object_get(root, "fence"));
        r->finished_ns = json_integer_value(json_object_get(root, "finished_ns"));
        *seq = (uint64_t)json_integer_value(json_object_get(root, "seq"));
        err = AX_OK;
    }
    json_decref(root);
    natsMsg_Destroy(reply);
    return err == AX_E_BUSY ? problem_set(p, err, "ingress cannot tell") : err;
}

bool recorded_in(natsMsg *msg, const char *id)
{
    struct record_batch batch;
    struct record r;
    return record_batch_unpack(&batch, natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg)) ==
               AX_OK &&
           record_batch_find(&batch, id, &r);
}

struct search {
    const char *id;
    struct record *record;
    uint64_t seq; /* of the batch that record stands in; 0: none */
};

static void search_batch(void *arg, const char *subject, uint64_t seq, int64_t time_ns,
                         natsMsg *msg)
{
    struct search *s = arg;
    struct record_batch batch;
    (void)subject;
    (void)time_ns;
    if (record_batch_unpack(&batch, natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg)) ==
            AX_OK &&
        record_batch_find(&batch, s->id, s->record))
        s->seq = seq;
}

ax_err recorded_search(natsConnection *nc, const char *id, uint64_t after, struct record *r,
                       uint64_t *seq, struct problem *p)
{
    struct search s = {id, r, 0};
    struct stored_range range = {
        .stream = STREAM_DONE, .filter = RECORD_BATCH_SUBJECTS, .from = after + 1, .batch = BATCH};
    ax_err err = stored_each(nc, &range, search_batch, &s, p);
    *seq = s.seq;
    if (err != AX_OK)
        return problem_set(p, err, "reading " STREAM_DONE ": %s", ax_err_text(err));
    return s.seq != 0 ? AX_OK : AX_E_NOT_FOUND;
}

struct count {
    uint64_t batches, records;
};

static ax_err count_batch(void *arg, const char *subject, struct problem *p)
{
    struct count *c = arg;
    struct record_batch_name name;
    (void)p;
    if (record_batch_parse_subject(subject, &name)) {
        c->batches++;
        c->records += name.entries;
    }
    return AX_OK;
}

ax_err recorded_count(natsConnection *nc, uint64_t *out, struct problem *p)
{
    struct count c = {0};
    uint64_t messages = 0;
    ax_err err = stored_subjects(nc, STREAM_DONE, RECORD_BATCH_SUBJECTS, count_batch, &c, &messages,
                                 p);
    if (err == AX_OK)
        *out = (messages > c.batches ? messages - c.batches : 0) + c.records;
    return err;
}
