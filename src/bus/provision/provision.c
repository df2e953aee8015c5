#include "bus/provision/provision.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/connect.h"
#include "bus/provision/asker.h"
#include "bus/provision/consumers.h"
#include "bus/provision/streams.h"
#include "task/header.h"

#define ADD_POOL_TRIES 5

/* ---- requests ---- */

static void request(void *nc, const char *what, json_t *payload, struct api_answer *out,
                    json_t **root)
{
    char subject[API_SUBJECT_MAX];
    natsMsg *reply = NULL;
    char *text = payload != NULL ? json_dumps(payload, JSON_COMPACT) : strdup("");
    int n = snprintf(subject, sizeof(subject), "$JS.API.%s", what);
    json_decref(payload);
    *root = NULL;
    *out = (struct api_answer){.err = text == NULL ? AX_E_NOMEM : AX_E_TOO_LONG};
    if (text != NULL && n < (int)sizeof(subject)) {
        out->err = connect_error(
            natsConnection_RequestString(&reply, nc, subject, text, ASKER_TIMEOUT_MS));
    }
    if (out->err == AX_OK)
        api_read(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), out, root);
    natsMsg_Destroy(reply);
    free(text);
}

ax_err provision_json(natsConnection *nc, const char *what, json_t *payload, json_t **reply,
                      int *err_code, struct problem *p)
{
    struct api_answer a;
    request(nc, what, payload, &a, reply);
    if (err_code != NULL)
        *err_code = a.err_code;
    return a.err == AX_OK ? AX_OK : api_problem(what, &a, p);
}

/* ---- the jobs of the provisioner, one at a time ---- */

/* What a job that ended says; arg of its callbacks. */
struct outcome {
    struct problem problem;
    void (*tell)(void *arg, const char *stream, int replicas); /* may be NULL */
    void (*created)(void *arg, const char *stream);            /* may be NULL */
    void *arg;
};

static void on_done(void *arg, const struct problem *p)
{
    ((struct outcome *)arg)->problem = *p;
}

static void on_consumers(void *arg, const char *pool, const struct problem *p)
{
    (void)pool;
    on_done(arg, p);
}

static void on_created(void *arg, const char *stream)
{
    const struct outcome *o = arg;
    if (o->created != NULL)
        o->created(o->arg, stream);
}

static void on_short(void *arg, const char *stream, int replicas)
{
    const struct outcome *o = arg;
    o->tell(o->arg, stream, replicas);
}

static ax_err run(struct asker *a, const struct outcome *o, struct problem *p)
{
    asker_run(a);
    if (o->problem.err != AX_OK && p != NULL)
        *p = o->problem;
    return o->problem.err;
}

ax_err provision_streams(natsConnection *nc, int replicas,
                         void (*created)(void *arg, const char *stream), void *arg,
                         struct problem *p)
{
    struct asker asker;
    struct outcome o = {.created = created, .arg = arg};
    struct streams s = {
        .asker = &asker, .replicas = replicas, .created = on_created, .done = on_done, .arg = &o};
    asker_init_blocking(&asker, request, nc);
    streams_ensure(&s);
    return run(&asker, &o, p);
}

ax_err provision_short_of_replicas(natsConnection *nc, int replicas,
                                   void (*found)(void *arg, const char *stream, int replicas),
                                   void *arg, struct problem *p)
{
    struct asker asker;
    struct outcome o = {.tell = found, .arg = arg};
    struct streams_short s = {
        .asker = &asker, .replicas = replicas, .found = on_short, .done = on_done, .arg = &o};
    asker_init_blocking(&asker, request, nc);
    streams_find_short(&s);
    return run(&asker, &o, p);
}

ax_err provision_priorities(natsConnection *nc, struct priorities *out, struct problem *p)
{
    struct asker asker;
    struct outcome o = {0};
    struct priorities_reading r;
    asker_init_blocking(&asker, request, nc);
    priorities_read(&r, &asker, on_done, &o);
    ax_err err = run(&asker, &o, p);
    if (err == AX_OK)
        *out = r.found;
    return err;
}

ax_err provision_pool(natsConnection *nc, const struct priorities *ps, const char *pool,
                      struct problem *p)
{
    struct asker asker;
    struct outcome o = {0};
    const struct consumers_events events = {.done = on_consumers, .arg = &o};
    asker_init_blocking(&asker, request, nc);
    consumers_ensure_pool(&asker, ps, pool, &events);
    return run(&asker, &o, p);
}

ax_err provision_feeders(natsConnection *nc, const struct priorities *ps, struct problem *p)
{
    struct asker asker;
    struct outcome o = {0};
    const struct consumers_events events = {.done = on_consumers, .arg = &o};
    asker_init_blocking(&asker, request, nc);
    consumers_ensure_feeders(&asker, ps, &events);
    return run(&asker, &o, p);
}

/* ---- a pool's entry in KV_AX_POOLS ---- */

/* Publishes json as the pool's entry, provided that the last message of its subject is expected (0:
 * none). */
static ax_err put_pool(natsConnection *nc, const char *subject, const char *json, uint64_t expected,
                       int *err_code, struct problem *p)
{
    char number[24];
    natsMsg *msg = NULL, *reply = NULL;
    json_t *root = NULL;
    struct api_answer a;
    *err_code = 0;
    snprintf(number, sizeof(number), "%llu", (unsigned long long)expected);
    natsStatus s = natsMsg_Create(&msg, subject, NULL, json, (int)strlen(json));
    if (s == NATS_OK)
        s = header_set(msg, HDR_EXPECT_SUBJECT_SEQ, number);
    if (s == NATS_OK)
        s = natsConnection_RequestMsg(&reply, nc, msg, ASKER_TIMEOUT_MS);
    natsMsg_Destroy(msg);
    if (s == NATS_NO_RESPONDERS) {
        return problem_set(p, AX_E_NO_RESPONDERS,
                           "bucket AX_POOLS is missing: `ax init` creates it");
    }
    if (s != NATS_OK)
        return problem_set(p, connect_error(s), "%s: %s", subject, ax_err_text(connect_error(s)));
    api_read(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), &a, &root);
    natsMsg_Destroy(reply);
    json_decref(root);
    *err_code = a.err_code;
    return a.err == AX_OK ? AX_OK : api_problem(subject, &a, p);
}

/* AX_E_EXISTS: the pool has an entry. AX_OK: it was deleted, *seq is the marker to replace; 0:
 * nothing there. */
static ax_err read_marker(natsConnection *nc, const char *subject, uint64_t *seq, struct problem *p)
{
    *seq = 0;
    json_t *reply;
    int err_code;
    ax_err err = provision_json(nc, "STREAM.MSG.GET." STREAM_POOLS,
                                json_pack("{s:s}", "last_by_subj", subject), &reply, &err_code, p);
    if (err == AX_E_SERVER && err_code == JSERR_NO_MESSAGE)
        return AX_OK;
    if (err != AX_OK)
        return err;
    const json_t *message = json_object_get(reply, "message");
    /* A deleted key is a message with headers (KV-Operation) and no value. */
    const char *data = json_string_value(json_object_get(message, "data"));
    if ((data == NULL || data[0] == '\0') && json_object_get(message, "hdrs") != NULL)
        *seq = (uint64_t)api_integer(message, "seq", 0);
    else
        err = AX_E_EXISTS;
    json_decref(reply);
    return err;
}

ax_err provision_add_pool(natsConnection *nc, const char *pool, const char *json, struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    uint64_t expected = 0;
    snprintf(subject, sizeof(subject), POOLS_PREFIX "%s", pool);
    for (int i = 0;; i++) {
        int err_code;
        ax_err err = put_pool(nc, subject, json, expected, &err_code, p);
        if (err != AX_E_SERVER || err_code != JSERR_WRONG_LAST_SEQ || i == ADD_POOL_TRIES)
            return err;
        err = read_marker(nc, subject, &expected, p);
        if (err == AX_E_EXISTS)
            return problem_set(p, AX_E_EXISTS, "pool %s is there already", pool);
        if (err != AX_OK)
            return err;
    }
}
