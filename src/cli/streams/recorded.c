#include "cli/streams/recorded.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/connect.h"
#include "bus/pipeline.h"
#include "bus/provision/provision.h"

#define API_TIMEOUT_MS 5000
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
    ax_err e = AX_E_BUSY;
    if (state && strcmp(state, "unknown") == 0) {
        e = AX_E_NOT_FOUND;
    } else if (state && pool && name_is_valid(pool)) {
        *r = (struct record){.state = strcmp(state, "cancelled") == 0 ? RECORD_CANCELLED
                                                                      : RECORD_DONE};
        snprintf(r->pool, sizeof(r->pool), "%s", pool);
        r->attempt = (uint32_t)json_integer_value(json_object_get(root, "attempt"));
        r->fence = (uint64_t)json_integer_value(json_object_get(root, "fence"));
        r->finished_ns = json_integer_value(json_object_get(root, "finished_ns"));
        *seq = (uint64_t)json_integer_value(json_object_get(root, "seq"));
        e = AX_OK;
    }
    json_decref(root);
    natsMsg_Destroy(reply);
    return e == AX_E_BUSY ? problem_set(p, e, "ingress cannot tell") : e;
}

bool recorded_in(natsMsg *msg, const char *id)
{
    struct record_batch page;
    struct record r;
    return record_batch_unpack(&page, natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg)) ==
               AX_OK &&
           record_batch_find(&page, id, &r);
}

/* One batch of pages from sequence *next on. *more: there may be others behind it. */
static ax_err read_batch(natsConnection *nc, natsSubscription *sub, const char *inbox,
                         uint64_t *next, bool *more, const char *id, struct record *r,
                         uint64_t *seq)
{
    char body[160];
    int n = snprintf(body, sizeof(body),
                     "{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\",\"batch\":%d}", *next,
                     RECORD_BATCH_SUBJECTS, BATCH);
    natsStatus s = natsConnection_PublishRequest(nc, "$JS.API.DIRECT.GET." STREAM_DONE, inbox, body,
                                                 n);
    *more = false;
    while (s == NATS_OK) {
        natsMsg *msg = NULL;
        const char *status = NULL, *at = NULL;
        struct record_batch page;
        s = natsSubscription_NextMsg(&msg, sub, API_TIMEOUT_MS);
        if (s != NATS_OK)
            break;
        bool over = natsMsg_IsNoResponders(msg) ||
                    natsMsgHeader_Get(msg, "Status", &status) == NATS_OK;
        if (over) { /* 204: end of the batch; 404: no page */
            ax_err e = status && (strcmp(status, "204") == 0 || strcmp(status, "404") == 0)
                           ? AX_OK
                           : AX_E_NO_RESPONDERS;
            natsMsg_Destroy(msg);
            return e;
        }
        if (natsMsgHeader_Get(msg, "Nats-Sequence", &at) == NATS_OK) {
            uint64_t here = strtoull(at, NULL, 10);
            *next = here + 1;
            *more = true;
            if (record_batch_unpack(&page, natsMsg_GetData(msg),
                                    (size_t)natsMsg_GetDataLength(msg)) == AX_OK &&
                record_batch_find(&page, id, r))
                *seq = here;
        }
        natsMsg_Destroy(msg);
    }
    return connect_error(s);
}

ax_err recorded_search(natsConnection *nc, const char *id, uint64_t after, struct record *r,
                       uint64_t *seq, struct problem *p)
{
    natsInbox *inbox = NULL;
    natsSubscription *sub = NULL;
    uint64_t next = after + 1;
    bool more = true;
    ax_err e = AX_OK;
    *seq = 0;
    if (natsInbox_Create(&inbox) != NATS_OK ||
        natsConnection_SubscribeSync(&sub, nc, inbox) != NATS_OK)
        e = AX_E_NOMEM;
    while (e == AX_OK && more)
        e = read_batch(nc, sub, inbox, &next, &more, id, r, seq);
    natsSubscription_Destroy(sub);
    natsInbox_Destroy(inbox);
    if (e)
        return problem_set(p, e, "reading " STREAM_DONE ": %s", ax_err_text(e));
    return *seq ? AX_OK : AX_E_NOT_FOUND;
}

/* Adds what the pages of one answer hold; returns how many subjects it told. */
static size_t add_pages(const json_t *state, uint64_t *pages, uint64_t *records)
{
    const char *subject;
    json_t *value, *subjects = json_object_get(state, "subjects");
    json_object_foreach(subjects, subject, value) {
        struct record_batch_name name;
        if (record_batch_parse_subject(subject, &name)) {
            *pages += 1;
            *records += name.entries;
        }
    }
    return json_object_size(subjects);
}

ax_err recorded_count(natsConnection *nc, uint64_t *out, struct problem *p)
{
    uint64_t messages = 0, pages = 0, records = 0;
    size_t told = 0, more = 1;
    while (more > 0) {
        char payload[128];
        char *reply = NULL;
        int err_code = 0;
        snprintf(payload, sizeof(payload), "{\"subjects_filter\":\"%s\",\"offset\":%zu}",
                 RECORD_BATCH_SUBJECTS, told);
        ax_err e = provision_api(nc, "STREAM.INFO." STREAM_DONE, payload, API_TIMEOUT_MS, &reply,
                                 &err_code, p);
        if (e == AX_E_SERVER && err_code == JSERR_STREAM_NOT_FOUND) {
            e = problem_set(p, e, "stream %s does not exist: create it with `ax init`",
                            STREAM_DONE);
        }
        if (e) {
            free(reply);
            return e;
        }
        json_t *root = json_loads(reply, 0, NULL), *state = json_object_get(root, "state");
        messages = (uint64_t)json_integer_value(json_object_get(state, "messages"));
        more = add_pages(state, &pages, &records);
        told += more;
        if (told >= (size_t)json_integer_value(json_object_get(root, "total")))
            more = 0;
        json_decref(root);
        free(reply);
    }
    *out = (messages > pages ? messages - pages : 0) + records;
    return AX_OK;
}
