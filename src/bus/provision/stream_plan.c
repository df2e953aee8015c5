#include "bus/provision/stream_plan.h"

#include <stdio.h>
#include <string.h>

#define CREATE_TRIES 3
#define MIN_MAX_BYTES (16LL << 20)

int stream_plan_find(const char *stream)
{
    for (int i = 0; i < stream_plan_asset_count; i++) {
        if (strcmp(stream, stream_plan_assets[i].name) == 0)
            return i;
    }
    return -1;
}

int64_t stream_plan_first_seq(const struct api_answer *done_info, struct problem *p)
{
    int64_t now_ns = api_time_ns(done_info->root, "ts");
    if (done_info->err_code == JSERR_STREAM_NOT_FOUND)
        return 0;
    if (done_info->err == AX_OK && now_ns > 0)
        return now_ns / 1000;
    if (done_info->err == AX_OK)
        problem_set(p, AX_E_PROTOCOL, STREAM_PLAN_DONE_INFO ": an answer without a time");
    else
        api_problem(STREAM_PLAN_DONE_INFO, done_info, p);
    return -1;
}

json_t *stream_plan_config(const struct stream_plan_asset *asset, int replicas, int64_t first_seq,
                           struct problem *p)
{
    json_error_t where;
    json_t *config = json_loads(asset->json, 0, &where);
    if (config == NULL) {
        problem_set(p, AX_E_PROTOCOL, "streams/%s.json line %d: %s", asset->name, where.line,
                    where.text);
        return NULL;
    }
    if (replicas > 1)
        json_object_set_new(config, "num_replicas", json_integer(replicas));
    if (first_seq > 0)
        json_object_set_new(config, "first_seq", json_integer(first_seq));
    return config;
}

enum stream_step stream_plan_after_create(const struct stream_plan_asset *asset, int replicas,
                                          int tries, const struct api_answer *a, struct problem *p)
{
    if (a->err == AX_OK)
        return json_is_true(json_object_get(a->root, "did_create")) ? STREAM_MADE : STREAM_EXISTS;
    /* A cluster that has only just come up, or is about to elect: creating twice is creating
     * once. */
    bool passes = a->err == AX_E_TIMEOUT || a->err_code == JSERR_JS_UNAVAILABLE ||
                  a->err_code == JSERR_NO_PEERS;
    if (passes && tries < CREATE_TRIES)
        return STREAM_AGAIN;
    if (a->err_code == JSERR_STREAM_NAME_EXISTS)
        return STREAM_EXISTS;
    if (a->err_code == JSERR_NO_PEERS || a->err_code == JSERR_REPLICAS_NOT_SUPPORTED) {
        problem_set(p, AX_E_SERVER,
                    "stream %s: %d replicas need as many servers of one cluster, up and with "
                    "JetStream",
                    asset->name, replicas);
    } else {
        char what[128];
        snprintf(what, sizeof(what), "STREAM.CREATE.%s", asset->name);
        api_problem(what, a, p);
    }
    /* The server looks at the storage first, so the stream of a process that was quicker looks like
     * too little storage. */
    return a->err_code == JSERR_STORAGE_EXCEEDED ? STREAM_LOOK : STREAM_REFUSED;
}

bool stream_plan_halve(json_t *config)
{
    int64_t max_bytes = api_integer(config, "max_bytes", 0);
    if (max_bytes / 2 < MIN_MAX_BYTES)
        return false;
    json_object_set_new(config, "max_bytes", json_integer(max_bytes / 2));
    return true;
}
