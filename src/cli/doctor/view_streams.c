#include "cli/doctor/view_streams.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "bus/api.h"
#include "bus/stream_info.h"

/* NULL: it is none of AX's. */
static struct view_stream *find(struct view *v, const char *name)
{
    for (int i = 0; name != NULL && i < v->stream_count; i++) {
        if (strcmp(v->streams[i].name, name) == 0)
            return &v->streams[i];
    }
    return NULL;
}

/* One that must exist. */
static void expect(struct view *v, const char *name)
{
    if (find(v, name) != NULL || v->stream_count == VIEW_STREAMS_MAX)
        return;
    struct view_stream *s = &v->streams[v->stream_count++];
    *s = (struct view_stream){.priority = -1, .max_later = -1, .max_msgs = -1, .max_bytes = -1};
    snprintf(s->name, sizeof(s->name), "%s", name);
    for (int i = 0; i < v->priorities.count; i++) {
        if (strcmp(v->priorities.list[i].stream, name) == 0)
            s->priority = i;
    }
}

static void read_peer(struct view *v, const json_t *replica)
{
    const char *name = json_string_value(json_object_get(replica, "name"));
    struct view_peer *peer = NULL;
    for (int i = 0; name && i < v->peer_count; i++) {
        if (strcmp(v->peers[i].name, name) == 0)
            peer = &v->peers[i];
    }
    if (!peer && name && v->peer_count < VIEW_PEERS_MAX) {
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

/* The server may remove unfinished tasks from it. */
static bool drops(const struct view_stream *s, const json_t *config, const struct stream_info *info)
{
    const char *discard = json_string_value(json_object_get(config, "discard"));
    bool keeps_tasks = strcmp(s->name, STREAM_WORK) == 0 || strcmp(s->name, STREAM_LATER) == 0 ||
                       strcmp(s->name, STREAM_SPILL) == 0 || s->priority >= 0;
    bool refuses_new = discard != NULL && strcmp(discard, "new") == 0;
    bool bounded = info->max_msgs > 0 || info->max_bytes > 0;
    return keeps_tasks && (info->max_age_ns > 0 || (bounded && !refuses_new));
}

static void read_stream(struct view *v, const json_t *answer)
{
    struct stream_info info;
    struct view_stream *s = stream_info_read(answer, &info) == AX_OK ? find(v, info.name) : NULL;
    if (s == NULL)
        return;
    s->there = true;
    s->messages = (int64_t)info.messages;
    s->bytes = (int64_t)info.bytes;
    s->max_msgs = info.max_msgs;
    s->max_bytes = info.max_bytes;
    s->replicas = info.replicas;
    s->drops = drops(s, json_object_get(answer, "config"), &info);
    if (strcmp(s->name, STREAM_LATER) == 0)
        s->max_later = info.max_later >= 0 ? info.max_later : STREAM_INFO_MAX_LATER;
    read_cluster(v, s, json_object_get(answer, "cluster"));
}

/* A stream that nobody leads cannot tell of itself: the list names it as missing. */
static void read_missing(struct view *v, const json_t *name)
{
    struct view_stream *s = find(v, json_string_value(name));
    if (s != NULL)
        s->there = true;
}

/* Returns how many streams this page had. */
static size_t read_page(struct view *v, const json_t *reply)
{
    size_t i;
    json_t *item;
    const json_t *list = json_object_get(reply, "streams");
    json_array_foreach(list, i, item)
        read_stream(v, item);
    json_array_foreach(json_object_get(reply, "missing"), i, item)
        read_missing(v, item);
    return json_array_size(list);
}

ax_err view_streams_read(natsConnection *nc, struct view *v, struct problem *p)
{
    size_t offset = 0, total = 1, got = 1;
    for (int i = 0; i < stream_plan_asset_count; i++)
        expect(v, stream_plan_assets[i].name);
    for (int i = 0; i < v->priorities.count; i++)
        expect(v, v->priorities.list[i].stream);
    while (offset < total && got > 0) {
        json_t *reply;
        ax_err err = provision_json(
            nc, "STREAM.LIST", json_pack("{s:I}", "offset", (json_int_t)offset), &reply, NULL, p);
        if (err != AX_OK)
            return err;
        got = read_page(v, reply);
        offset += got;
        total = (size_t)api_integer(reply, "total", 0);
        json_decref(reply);
    }
    return AX_OK;
}

ax_err view_streams_read_account(natsConnection *nc, struct view *v, struct problem *p)
{
    json_t *reply;
    ax_err err = provision_json(nc, "INFO", NULL, &reply, NULL, p);
    if (err != AX_OK)
        return err;
    const json_t *limits = json_object_get(reply, "limits");
    v->memory = api_integer(reply, "memory", 0);
    v->storage = api_integer(reply, "storage", 0);
    v->memory_max = api_integer(limits, "max_memory", -1);
    v->storage_max = api_integer(limits, "max_storage", -1);
    json_decref(reply);
    return AX_OK;
}
