#include "cli/streams/pool.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/pipeline.h"
#include "cli/streams/stored.h"
#include "task/peer/instance.h"

#define API_TIMEOUT_MS 5000

ax_err pool_add(natsConnection *nc, const char *pool, const char *json, struct problem *p)
{
    struct priorities ps;
    ax_err e = provision_priorities(nc, &ps, p);
    if (e)
        return e;
    char subject[SUBJECT_MAX_CHARS];
    struct stored old;
    snprintf(subject, sizeof(subject), POOLS_PREFIX "%s", pool);
    /* A look first: a publish that the bucket refuses is heard by everybody who follows it all the
     * same. */
    ax_err added = stored_last(nc, STREAM_POOLS, subject, &old, p);
    bool there = !added && !stored_header(old.msg, "KV-Operation");
    stored_clear(&old);
    added = there                              ? AX_E_EXISTS
            : added && added != AX_E_NOT_FOUND ? added
                                               : provision_add_pool(nc, pool, json, p);
    if (added && added != AX_E_EXISTS)
        return added;
    e = provision_pool(nc, &ps, pool, p);
    return e ? e : added;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pool_entry *)a)->name, ((const struct pool_entry *)b)->name);
}

static ax_err read_entry(natsConnection *nc, const char *subject, struct pool_list *out,
                         struct problem *p)
{
    const char *name = subject + strlen(POOLS_PREFIX);
    if (!name_is_valid(name))
        return AX_OK; /* put there by hand; no pool of ours can be called that */
    struct stored s;
    ax_err e = stored_last(nc, STREAM_POOLS, subject, &s, p);
    if (e)
        return e == AX_E_NOT_FOUND ? AX_OK : e;
    const char *marker = stored_header(s.msg, "KV-Operation");
    if (!marker) {
        struct pool_entry *entry = &out->list[out->count];
        size_t bytes = (size_t)natsMsg_GetDataLength(s.msg);
        snprintf(entry->name, sizeof(entry->name), "%s", name);
        entry->json = malloc(bytes + 1);
        if (!entry->json) {
            e = problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
        } else {
            memcpy(entry->json, natsMsg_GetData(s.msg), bytes);
            entry->json[bytes] = '\0';
            for (size_t i = 0; i < bytes; i++) {
                if ((unsigned char)entry->json[i] < ' ')
                    entry->json[i] = ' ';
            }
            out->count++;
        }
    }
    stored_clear(&s);
    return e;
}

ax_err pool_list_read(natsConnection *nc, struct pool_list *out, struct problem *p)
{
    *out = (struct pool_list){0};
    char *reply = NULL;
    int err_code = 0;
    ax_err e = provision_api(nc, "STREAM.INFO." STREAM_POOLS,
                             "{\"subjects_filter\":\"" POOLS_PREFIX ">\"}", API_TIMEOUT_MS, &reply,
                             &err_code, p);
    if (e == AX_E_SERVER && err_code == JSERR_STREAM_NOT_FOUND)
        e = problem_set(p, e, "stream %s does not exist: create it with `ax init`", STREAM_POOLS);
    json_t *root = e ? NULL : json_loads(reply, 0, NULL);
    free(reply);
    json_t *subjects = json_object_get(json_object_get(root, "state"), "subjects");
    out->list = calloc(json_object_size(subjects) + 1, sizeof(*out->list));
    if (!e && !out->list)
        e = problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    const char *subject;
    json_t *count;
    json_object_foreach(subjects, subject, count) {
        if (!e)
            e = read_entry(nc, subject, out, p);
    }
    json_decref(root);
    if (!e && out->count > 1)
        qsort(out->list, (size_t)out->count, sizeof(*out->list), by_name);
    return e;
}

void pool_list_free(struct pool_list *l)
{
    for (int i = 0; i < l->count; i++)
        free(l->list[i].json);
    free(l->list);
    *l = (struct pool_list){0};
}

/* *info NULL: no such consumer. */
static ax_err consumer_info(natsConnection *nc, const char *stream, const char *consumer,
                            json_t **info, struct problem *p)
{
    char what[192];
    snprintf(what, sizeof(what), "CONSUMER.INFO.%s.%s", stream, consumer);
    char *reply = NULL;
    int err_code = 0;
    *info = NULL;
    ax_err e = provision_api(nc, what, "", API_TIMEOUT_MS, &reply, &err_code, p);
    if (e == AX_E_SERVER &&
        (err_code == JSERR_CONSUMER_NOT_FOUND || err_code == JSERR_STREAM_NOT_FOUND))
        e = AX_OK;
    else if (!e && !(*info = json_loads(reply, 0, NULL)))
        e = problem_set(p, AX_E_PROTOCOL, "%s: the answer is not JSON", what);
    free(reply);
    return e;
}

static int64_t number(json_t *o, const char *name)
{
    json_t *value = json_object_get(o, name);
    return value ? (int64_t)json_integer_value(value) : -1;
}

static ax_err read_leader(natsConnection *nc, const char *pool, char leader[INSTANCE_MAX_CHARS + 1],
                          struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    struct stored s;
    struct lease lease;
    lease_subject(subject, pool);
    ax_err e = stored_last(nc, STREAM_LEASES, subject, &s, p);
    leader[0] = '\0';
    if (e)
        return e == AX_E_NOT_FOUND ? AX_OK : e;
    if (lease_unpack(&lease, natsMsg_GetData(s.msg), (size_t)natsMsg_GetDataLength(s.msg)) == AX_OK)
        strcpy(leader, lease.holder);
    stored_clear(&s);
    return AX_OK;
}

ax_err pool_count(natsConnection *nc, const struct priorities *ps, const char *pool,
                  struct pool_counts *out, struct problem *p)
{
    json_t *info;
    for (int i = 0; i < ps->count; i++) {
        ax_err e = consumer_info(nc, ps->list[i].stream, pool, &info, p);
        if (e)
            return e;
        out->waiting[i] = number(info, "num_pending");
        out->queued[i] = info ? out->waiting[i] + number(info, "num_ack_pending") : -1;
        json_decref(info);
    }
    ax_err e = consumer_info(nc, STREAM_WORK, pool, &info, p);
    if (e)
        return e;
    json_t *config = json_object_get(info, "config");
    out->handed = number(info, "num_pending");
    out->running = number(info, "num_ack_pending");
    out->pulls = number(info, "num_waiting");
    out->max_ack_pending = number(config, "max_ack_pending");
    out->ack_wait_ms = config ? number(config, "ack_wait") / 1000000 : -1;
    json_decref(info);
    return read_leader(nc, pool, out->leader, p);
}
