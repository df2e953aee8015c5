#include "cli/doctor/doctor_view.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/stream_info.h"
#include "cli/streams/stored.h"
#include "task/peer/presence.h"

#define TOLD_WAIT_MS 2500
#define TOLD_MIN_MS                                                                              \
    300 /* how many ingresses there are nobody knows: those that answer within this are taken in \
         */
#define DAEMONS_MAX 256
#define STREAMS_MAX 64
#define PEERS_MAX 32

static void note_trouble(struct view *v, const struct problem *p)
{
    if (v->trouble[0] == '\0') {
        snprintf(v->trouble, sizeof(v->trouble), "%.255s",
                 p->text[0] ? p->text : ax_err_text(p->err));
    }
}

static int64_t whole(const json_t *o, const char *field, int64_t otherwise)
{
    const json_t *value = json_object_get(o, field);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* ---- streams ---- */

static struct view_stream *stream(struct view *v, const char *name)
{
    for (int i = 0; i < v->stream_count; i++) {
        if (strcmp(v->streams[i].name, name) == 0)
            return &v->streams[i];
    }
    if (v->stream_count == STREAMS_MAX)
        return NULL;
    struct view_stream *s = &v->streams[v->stream_count++];
    *s = (struct view_stream){.priority = -1, .max_later = -1, .max_msgs = -1, .max_bytes = -1};
    snprintf(s->name, sizeof(s->name), "%s", name);
    for (int i = 0; i < v->priorities.count; i++) {
        if (strcmp(v->priorities.list[i].stream, name) == 0)
            s->priority = i;
    }
    return s;
}

/* One of ours? Those there must be are in the view already. */
static struct view_stream *known(struct view *v, const char *name)
{
    for (int i = 0; i < v->stream_count; i++) {
        if (strcmp(v->streams[i].name, name) == 0)
            return &v->streams[i];
    }
    return NULL;
}

static void read_peer(struct view *v, const json_t *replica)
{
    const char *name = json_string_value(json_object_get(replica, "name"));
    struct view_peer *peer = NULL;
    for (int i = 0; name && i < v->peer_count; i++) {
        if (strcmp(v->peers[i].name, name) == 0)
            peer = &v->peers[i];
    }
    if (!peer && name && v->peer_count < PEERS_MAX) {
        peer = &v->peers[v->peer_count++];
        snprintf(peer->name, sizeof(peer->name), "%s", name);
    }
    if (!peer)
        return;
    bool away = json_is_true(json_object_get(replica, "offline"));
    peer->away += away;
    peer->behind += !away && !json_is_true(json_object_get(replica, "current"));
}

static void read_cluster(struct view *v, struct view_stream *s, const json_t *cluster)
{
    size_t i;
    json_t *r;
    s->has_leader = true;
    if (!json_is_object(cluster))
        return; /* a single server */
    const char *leader = json_string_value(json_object_get(cluster, "leader"));
    s->has_leader = leader && leader[0];
    json_array_foreach(json_object_get(cluster, "replicas"), i, r)
        read_peer(v, r);
}

static void read_stream(struct view *v, struct view_stream *s, const json_t *info)
{
    const json_t *config = json_object_get(info, "config"), *state = json_object_get(info, "state");
    const char *discard = json_string_value(json_object_get(config, "discard"));
    const char *later = json_string_value(
        json_object_get(json_object_get(config, "metadata"), "ax.max_later"));
    s->there = true;
    s->messages = whole(state, "messages", 0);
    s->bytes = whole(state, "bytes", 0);
    s->max_msgs = whole(config, "max_msgs", -1);
    s->max_bytes = whole(config, "max_bytes", -1);
    s->replicas = (int)whole(config, "num_replicas", 1);
    bool keeps = strcmp(s->name, STREAM_WORK) == 0 || strcmp(s->name, STREAM_LATER) == 0 ||
                 strcmp(s->name, STREAM_SPILL) == 0 || s->priority >= 0;
    bool is_new = discard && strcmp(discard, "new") == 0;
    bool bounded = s->max_msgs > 0 || s->max_bytes > 0;
    s->drops = keeps && (whole(config, "max_age", 0) > 0 || (bounded && !is_new));
    if (strcmp(s->name, STREAM_LATER) == 0)
        s->max_later = later ? strtoll(later, NULL, 10) : STREAM_INFO_MAX_LATER;
    read_cluster(v, s, json_object_get(info, "cluster"));
}

static ax_err read_streams(natsConnection *nc, struct view *v, struct problem *p)
{
    size_t offset = 0, total = 1;
    for (int i = 0; i < stream_plan_asset_count; i++)
        stream(v, stream_plan_assets[i].name);
    for (int i = 0; i < v->priorities.count; i++)
        stream(v, v->priorities.list[i].stream);
    while (offset < total) {
        json_t *reply, *info;
        size_t i;
        ax_err e = provision_json(
            nc, "STREAM.LIST", json_pack("{s:I}", "offset", (json_int_t)offset), &reply, NULL, p);
        if (e)
            return e;
        json_t *list = json_object_get(reply, "streams"),
               *missing = json_object_get(reply, "missing");
        json_array_foreach(list, i, info) {
            const char *name = json_string_value(
                json_object_get(json_object_get(info, "config"), "name"));
            struct view_stream *s = name ? known(v, name) : NULL;
            if (s)
                read_stream(v, s, info);
        }
        json_array_foreach(missing, i, info) {
            struct view_stream *s = json_is_string(info) ? known(v, json_string_value(info)) : NULL;
            if (s)
                s->there = true; /* and nobody leads it */
        }
        total = (size_t)whole(reply, "total", 0);
        size_t got = json_array_size(list);
        json_decref(reply);
        if (got == 0)
            break;
        offset += got;
    }
    return AX_OK;
}

static ax_err read_account(natsConnection *nc, struct view *v, struct problem *p)
{
    json_t *reply;
    ax_err e = provision_json(nc, "INFO", NULL, &reply, NULL, p);
    if (e)
        return e;
    const json_t *limits = json_object_get(reply, "limits");
    v->memory = whole(reply, "memory", 0);
    v->storage = whole(reply, "storage", 0);
    v->memory_max = whole(limits, "max_memory", -1);
    v->storage_max = whole(limits, "max_storage", -1);
    json_decref(reply);
    return AX_OK;
}

/* ---- pools ---- */

static ax_err read_pools(natsConnection *nc, struct view *v, struct problem *p)
{
    struct pool_list list = {0};
    ax_err e = pool_list_read(nc, &list, p);
    v->pools = calloc((size_t)list.count + 1, sizeof(*v->pools));
    if (!e && !v->pools)
        e = problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    for (int i = 0; !e && i < list.count; i++) {
        struct view_pool *pool = &v->pools[v->pool_count++];
        snprintf(pool->name, sizeof(pool->name), "%s", list.list[i].name);
        json_t *settings = json_loads(list.list[i].json, JSON_DISABLE_EOF_CHECK, NULL);
        pool->paused = json_is_true(json_object_get(settings, "paused"));
        json_decref(settings);
    }
    pool_list_free(&list);
    /* One that does not answer says it for all: each question would wait for its time-out. */
    for (int i = 0; !e && i < v->pool_count; i++) {
        e = pool_count(nc, &v->priorities, v->pools[i].name, &v->pools[i].counts, p);
        v->pools[i].is_counted = !e;
    }
    return e;
}

/* ---- daemons ---- */

static struct view_daemon *daemon_of(struct view *v, const char *program, const char *name)
{
    for (int i = 0; i < v->daemon_count; i++) {
        if (strcmp(v->daemons[i].name, name) == 0)
            return &v->daemons[i];
    }
    if (v->daemon_count == DAEMONS_MAX)
        return NULL;
    struct view_daemon *d = &v->daemons[v->daemon_count++];
    *d = (struct view_daemon){.clock_behind_ms = INT64_MIN, .host_ahead_ms = INT64_MIN};
    snprintf(d->program, sizeof(d->program), "%s", program);
    snprintf(d->name, sizeof(d->name), "%s", name);
    return d;
}

/* The dispatchers that have announced themselves. */
static ax_err read_announced(natsConnection *nc, struct view *v, struct problem *p)
{
    json_t *reply;
    const char *subject;
    json_t *count;
    ax_err e = provision_json(nc, "STREAM.INFO." STREAM_LEASES,
                              json_pack("{s:s}", "subjects_filter", DISPATCHERS_PREFIX ">"), &reply,
                              NULL, p);
    if (e)
        return e;
    json_object_foreach(json_object_get(json_object_get(reply, "state"), "subjects"), subject,
                        count) {
        struct stored s;
        struct presence x;
        ax_err gone = stored_last(nc, STREAM_LEASES, subject, &s, p);
        if (gone)
            continue; /* its time has passed meanwhile */
        if (presence_unpack(&x, natsMsg_GetData(s.msg), (size_t)natsMsg_GetDataLength(s.msg)) ==
                AX_OK &&
            !x.leaving)
            daemon_of(v, "ax-dispatch", x.name);
        stored_clear(&s);
    }
    json_decref(reply);
    return AX_OK;
}

static bool all_told(void *arg, const json_t *answers)
{
    const struct view *v = arg;
    for (int i = 0; i < v->daemon_count; i++) {
        if (!stats_query_by(answers, v->daemons[i].name))
            return false;
    }
    return stats_query_count(answers, "ax-ingress") > 0 &&
           stats_query_count(answers, "ax-dispatch") > 0;
}

static bool never(void *arg, const json_t *answers)
{
    (void)arg, (void)answers;
    return false;
}

static void read_busy_answers(const struct view *v, struct view_daemon *d, const json_t *answer)
{
    size_t i;
    json_t *o;
    struct stats_priority stats;
    json_array_foreach(json_object_get(answer, "priorities"), i, o) {
        stats_answer_read_priority(o, &stats);
        int k = priorities_find(&v->priorities, stats.priority);
        if (k >= 0)
            d->busy_answers[k] = stats.busy_answers;
    }
}

static void read_daemon(struct view *v, const json_t *answer)
{
    struct stats_daemon self;
    struct stats_ingress stats;
    stats_answer_read_daemon(answer, &self);
    struct view_daemon *d = self.program[0] != '\0' && self.name[0] != '\0'
                                ? daemon_of(v, self.program, self.name)
                                : NULL;
    if (d == NULL)
        return;
    stats_answer_read_ingress(answer, &stats);
    d->answered = true;
    d->ready = self.ready;
    d->clock_behind_ms = self.clock_behind_ms;
    d->host_ahead_ms = self.host_clock_ahead_ms;
    d->unknown = stats.five_minutes.unknown;
    d->refused = stats.five_minutes.refused;
    d->gaps = stats.five_minutes.gaps;
    read_busy_answers(v, d, answer);
}

static void read_told(struct view *v, const json_t *answers)
{
    size_t i;
    json_t *a;
    json_array_foreach(answers, i, a)
        read_daemon(v, a);
    for (int k = 0; k < v->pool_count; k++)
        stats_query_pool(answers, v->pools[k].name, &v->pools[k].told);
}

ax_err view_read(natsConnection *nc, struct view *v, struct problem *p)
{
    struct stats_query told = {0};
    *v = (struct view){.memory_max = -1, .storage_max = -1};
    v->streams = calloc(STREAMS_MAX, sizeof(*v->streams));
    v->daemons = calloc(DAEMONS_MAX, sizeof(*v->daemons));
    v->peers = calloc(PEERS_MAX, sizeof(*v->peers));
    if (!v->streams || !v->daemons || !v->peers)
        return problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    ax_err e = stats_query_ask(&told, nc, p);
    ax_err (*const steps[])(natsConnection *, struct view *, struct problem *) = {
        read_account, read_streams, read_announced, read_pools};
    if (!e)
        e = provision_priorities(nc, &v->priorities, p);
    if (e)
        note_trouble(v, p);
    /* Where there is no answer the next question would only wait for one, too. */
    for (size_t i = 0; e != AX_E_TIMEOUT && i < sizeof(steps) / sizeof(steps[0]); i++) {
        e = steps[i](nc, v, p);
        if (e)
            note_trouble(v, p);
    }
    if (told.sub) {
        stats_query_gather(&told, TOLD_MIN_MS, never, NULL);
        stats_query_gather(&told, TOLD_WAIT_MS - TOLD_MIN_MS, all_told, v);
        read_told(v, told.answers);
    }
    stats_query_free(&told);
    return AX_OK;
}

void view_free(struct view *v)
{
    free(v->pools);
    free(v->streams);
    free(v->daemons);
    free(v->peers);
    *v = (struct view){0};
}
