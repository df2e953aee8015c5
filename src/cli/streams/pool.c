#include "cli/streams/pool.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/nearest.h"
#include "bus/consumer_info.h"
#include "bus/provision/consumer_kept.h"
#include "bus/provision/consumer_plan.h"
#include "cli/streams/stored.h"
#include "cli/streams/stored_subjects.h"
#include "task/peer/instance.h"

/* AX_E_EXISTS: it is there. */
static ax_err add_entry_to_bucket(natsConnection *nc, const char *pool, const char *json,
                                  struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    struct stored old;
    snprintf(subject, sizeof(subject), POOLS_PREFIX "%s", pool);
    /* The bucket is read first: everybody who subscribes to it receives a publish even when the
     * bucket refuses it. */
    ax_err err = stored_last(nc, STREAM_POOLS, subject, &old, p);
    bool exists = err == AX_OK && stored_header(old.msg, "KV-Operation") == NULL;
    stored_clear(&old);
    if (err != AX_OK && err != AX_E_NOT_FOUND)
        return err;
    return exists ? AX_E_EXISTS : provision_add_pool(nc, pool, json, p);
}

ax_err pool_add(natsConnection *nc, const char *pool, const char *json, struct problem *p)
{
    struct priorities ps;
    ax_err err = provision_priorities(nc, &ps, p);
    if (err != AX_OK)
        return err;
    ax_err added = add_entry_to_bucket(nc, pool, json, p);
    if (added != AX_OK && added != AX_E_EXISTS)
        return added;
    err = provision_pool(nc, &ps, pool, p);
    return err != AX_OK ? err : added;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct pool_entry *)a)->name, ((const struct pool_entry *)b)->name);
}

struct reading {
    natsConnection *nc;
    struct pool_list *list;
};

/* Control characters become blanks, so that the text stays on one line. NULL: out of memory. */
static char *copy_settings(natsMsg *msg)
{
    size_t bytes = (size_t)natsMsg_GetDataLength(msg);
    char *json = malloc(bytes + 1);
    if (json == NULL)
        return NULL;
    memcpy(json, natsMsg_GetData(msg), bytes);
    json[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)json[i] < ' ')
            json[i] = ' ';
    }
    return json;
}

static ax_err add_entry(struct pool_list *l, const char *name, natsMsg *msg)
{
    struct pool_entry *grown = realloc(l->list, (size_t)(l->count + 1) * sizeof(*grown));
    if (grown == NULL)
        return AX_E_NOMEM;
    l->list = grown;
    struct pool_entry *entry = &l->list[l->count];
    snprintf(entry->name, sizeof(entry->name), "%s", name);
    entry->json = copy_settings(msg);
    l->count += entry->json != NULL;
    return entry->json != NULL ? AX_OK : AX_E_NOMEM;
}

static ax_err read_entry(void *arg, const char *subject, struct problem *p)
{
    struct reading *r = arg;
    const char *name = subject + strlen(POOLS_PREFIX);
    if (!name_is_valid(name))
        return AX_OK; /* put there by hand; no pool of ours can be called that */
    struct stored s;
    ax_err err = stored_last(r->nc, STREAM_POOLS, subject, &s, p);
    if (err != AX_OK)
        return err == AX_E_NOT_FOUND ? AX_OK : err;
    if (stored_header(s.msg, "KV-Operation") == NULL)
        err = add_entry(r->list, name, s.msg);
    stored_clear(&s);
    return err != AX_OK ? problem_set(p, err, "%s", ax_err_text(err)) : AX_OK;
}

ax_err pool_list_read(natsConnection *nc, struct pool_list *out, struct problem *p)
{
    *out = (struct pool_list){0};
    struct reading r = {nc, out};
    ax_err err = stored_subjects(nc, STREAM_POOLS, POOLS_PREFIX ">", read_entry, &r, NULL, p);
    if (err == AX_OK && out->count > 1)
        qsort(out->list, (size_t)out->count, sizeof(*out->list), by_name);
    return err;
}

void pool_list_free(struct pool_list *l)
{
    for (int i = 0; i < l->count; i++)
        free(l->list[i].json);
    free(l->list);
    *l = (struct pool_list){0};
}

/* p says that there is no such pool; out of what is there the nearest is named. */
static ax_err say_missing(natsConnection *nc, const char *pool, struct problem *p)
{
    struct nearest near = {.word = pool};
    struct pool_list all;
    char hint[64] = "";
    if (pool_list_read(nc, &all, NULL) == AX_OK) {
        for (int i = 0; i < all.count; i++)
            nearest_offer(&near, all.list[i].name);
        nearest_text(&near, "", hint, sizeof(hint));
    }
    pool_list_free(&all);
    return problem_set(p, AX_E_NOT_FOUND, "there is no pool %s%s", pool, hint);
}

ax_err pool_check_exists(natsConnection *nc, const char *pool, struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    struct stored s;
    snprintf(subject, sizeof(subject), POOLS_PREFIX "%s", pool);
    ax_err err = stored_last(nc, STREAM_POOLS, subject, &s, p);
    if (err == AX_OK && stored_header(s.msg, "KV-Operation") != NULL)
        err = AX_E_NOT_FOUND;
    stored_clear(&s);
    return err == AX_E_NOT_FOUND ? say_missing(nc, pool, p) : err;
}

/* What is counted of a consumer; -1: there is no such consumer. */
struct consumer_counts {
    int64_t pending, ack_pending, waiting, ack_wait_ms, max_ack_pending;
    bool is_made_again;
    int64_t made_again_s;
    char settings[160]; /* of one made again: what differs from AX's own, in words */
};

static void read_made_again(const char *consumer, const struct consumer_info *info,
                            struct consumer_counts *out)
{
    struct consumer_plan own;
    if (!consumer_kept_is_made_again(info->config) || info->created_ns == 0 ||
        info->ts_ns < info->created_ns)
        return;
    consumer_plan_work(&own, consumer);
    json_t *defaults = consumer_plan_config(&own);
    json_t *kept = consumer_kept_of(info->config, defaults);
    consumer_kept_text(kept, out->settings, sizeof(out->settings));
    out->is_made_again = true;
    out->made_again_s = (info->ts_ns - info->created_ns) / 1000000000;
    json_decref(defaults);
    json_decref(kept);
}

static ax_err count_consumer(natsConnection *nc, const char *stream, const char *consumer,
                             struct consumer_counts *out, struct problem *p)
{
    char what[192];
    json_t *reply;
    int err_code = 0;
    struct consumer_info info;
    *out = (struct consumer_counts){
        .pending = -1, .ack_pending = -1, .waiting = -1, .ack_wait_ms = -1, .max_ack_pending = -1};
    snprintf(what, sizeof(what), "CONSUMER.INFO.%s.%s", stream, consumer);
    ax_err err = provision_json(nc, what, NULL, &reply, &err_code, p);
    if (err == AX_E_SERVER &&
        (err_code == JSERR_CONSUMER_NOT_FOUND || err_code == JSERR_STREAM_NOT_FOUND))
        return AX_OK;
    if (err != AX_OK)
        return err;
    err = consumer_info_read(reply, &info);
    if (err == AX_OK) {
        *out = (struct consumer_counts){.pending = info.num_pending,
                                        .ack_pending = info.num_ack_pending,
                                        .waiting = info.num_waiting,
                                        .ack_wait_ms = info.ack_wait_ns / 1000000,
                                        .max_ack_pending = info.max_ack_pending};
        read_made_again(consumer, &info, out);
    }
    json_decref(reply);
    return err != AX_OK ? problem_set(p, err, "%s: %s", what, ax_err_text(err)) : AX_OK;
}

static ax_err read_leader(natsConnection *nc, const char *pool, char leader[INSTANCE_MAX_CHARS + 1],
                          struct problem *p)
{
    char subject[SUBJECT_MAX_CHARS];
    struct stored s;
    struct lease lease;
    lease_subject(subject, pool);
    ax_err err = stored_last(nc, STREAM_LEASES, subject, &s, p);
    leader[0] = '\0';
    if (err != AX_OK)
        return err == AX_E_NOT_FOUND ? AX_OK : err;
    if (lease_unpack(&lease, natsMsg_GetData(s.msg), (size_t)natsMsg_GetDataLength(s.msg)) == AX_OK)
        strcpy(leader, lease.holder);
    stored_clear(&s);
    return AX_OK;
}

ax_err pool_count(natsConnection *nc, const struct priorities *ps, const char *pool,
                  struct pool_counts *out, struct problem *p)
{
    struct consumer_counts c;
    for (int i = 0; i < ps->count; i++) {
        ax_err err = count_consumer(nc, ps->list[i].stream, pool, &c, p);
        if (err != AX_OK)
            return err;
        out->waiting[i] = c.pending;
        out->queued[i] = c.pending < 0 ? -1 : c.pending + c.ack_pending;
    }
    ax_err err = count_consumer(nc, STREAM_WORK, pool, &c, p);
    if (err != AX_OK)
        return err;
    out->handed = c.pending;
    out->running = c.ack_pending;
    out->pulls = c.waiting;
    out->max_ack_pending = c.max_ack_pending;
    out->ack_wait_ms = c.ack_wait_ms;
    out->is_made_again = c.is_made_again;
    out->made_again_s = c.made_again_s;
    snprintf(out->made_again_with, sizeof(out->made_again_with), "%s", c.settings);
    return read_leader(nc, pool, out->leader, p);
}
