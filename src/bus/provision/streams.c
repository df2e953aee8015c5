#include "bus/provision/streams.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "bus/provision/stream_plan.h"
#include "bus/stream_info.h"
#include "task/names.h"

#define DELETE_SETTLES_MS 1000
#define WHAT_MAX 128

static void look(void *arg);
static void create_next(struct streams *s);
static void create(void *arg);

static void finish(struct streams *s, const struct problem *p)
{
    json_decref(s->config);
    s->config = NULL;
    s->seen |= s->present;
    s->done(s->arg, p);
}

/* ---- which exist ---- */

static ax_err on_name(void *arg, const json_t *value, struct problem *p)
{
    struct streams *s = arg;
    const char *name = json_string_value(value);
    int i = name != NULL ? stream_plan_find(name) : -1;
    (void)p;
    if (i >= 0)
        s->present |= 1ULL << i;
    return AX_OK;
}

static void on_names(void *arg, const struct problem *p)
{
    struct streams *s = arg;
    bool deleted = (s->seen & ~s->present) != 0;
    if (p->err != AX_OK) {
        finish(s, p);
    } else if (deleted && !s->settled) {
        s->settled = true;
        asker_rest(s->asker, DELETE_SETTLES_MS, look, s);
    } else {
        s->next = 0;
        create_next(s);
    }
}

static void look(void *arg)
{
    struct streams *s = arg;
    s->present = 0;
    s->pages = (struct pages){
        .asker = s->asker, .what = "STREAM.NAMES", .item = on_name, .done = on_names, .arg = s};
    pages_read(&s->pages);
}

void streams_ensure(struct streams *s)
{
    s->settled = false;
    s->trouble = (struct problem){0};
    look(s);
}

/* ---- creating one after the other, in the order of their names ---- */

static void ended(struct streams *s, bool made)
{
    if (made && s->created != NULL)
        s->created(s->arg, stream_plan_assets[s->next].name);
    s->present |= 1ULL << s->next;
    create_next(s);
}

static void on_looked(void *arg, const struct api_answer *a)
{
    struct streams *s = arg;
    const char *name = stream_plan_assets[s->next].name;
    int64_t max_bytes = api_integer(s->config, "max_bytes", 0);
    if (a->err == AX_OK) {
        ended(s, false);
    } else if (stream_plan_halve(s->config)) {
        log_warn("not enough storage for the stream's max_bytes, trying half of it",
                 "stream=%s max_bytes=%lld", name, (long long)max_bytes);
        create(s);
    } else {
        finish(s, &s->trouble);
    }
}

static void on_created(void *arg, const struct api_answer *a)
{
    struct streams *s = arg;
    const struct stream_plan_asset *asset = &stream_plan_assets[s->next];
    char what[WHAT_MAX];
    switch (stream_plan_after_create(asset, s->replicas, s->tries, a, &s->trouble)) {
    case STREAM_MADE:
        ended(s, true);
        break;
    case STREAM_EXISTS:
        ended(s, false);
        break;
    case STREAM_AGAIN:
        asker_rest(s->asker, STREAM_PLAN_AGAIN_MS, create, s);
        break;
    case STREAM_LOOK:
        snprintf(what, sizeof(what), "STREAM.INFO.%s", asset->name);
        asker_ask(s->asker, what, NULL, on_looked, s);
        break;
    case STREAM_REFUSED:
        finish(s, &s->trouble);
        break;
    }
}

static void create(void *arg)
{
    struct streams *s = arg;
    char what[WHAT_MAX];
    snprintf(what, sizeof(what), "STREAM.CREATE.%s", stream_plan_assets[s->next].name);
    s->tries++;
    asker_ask(s->asker, what, json_incref(s->config), on_created, s);
}

static void begin(struct streams *s, int64_t first_seq)
{
    if (first_seq < 0) {
        finish(s, &s->trouble);
        return;
    }
    json_decref(s->config);
    s->config = stream_plan_config(&stream_plan_assets[s->next], s->replicas, first_seq,
                                   &s->trouble);
    s->tries = 0;
    if (s->config != NULL)
        create(s);
    else
        finish(s, &s->trouble);
}

static void on_done_info(void *arg, const struct api_answer *a)
{
    struct streams *s = arg;
    begin(s, stream_plan_first_seq(a, &s->trouble));
}

static void create_next(struct streams *s)
{
    while (s->next < stream_plan_asset_count && (s->present & 1ULL << s->next) != 0)
        s->next++;
    if (s->next == stream_plan_asset_count)
        finish(s, &(struct problem){0});
    else if (strcmp(stream_plan_assets[s->next].name, STREAM_WORK) == 0)
        asker_ask(s->asker, STREAM_PLAN_DONE_INFO, NULL, on_done_info, s);
    else
        begin(s, 0);
}

/* ---- replicas ---- */

static ax_err on_stream(void *arg, const json_t *value, struct problem *p)
{
    const struct streams_short *s = arg;
    struct stream_info info;
    (void)p;
    if (stream_info_read(value, &info) != AX_OK)
        return AX_OK;
    bool is_ours = info.rank != NULL || stream_plan_find(info.name) >= 0;
    if (is_ours && info.replicas < s->replicas)
        s->found(s->arg, info.name, info.replicas);
    return AX_OK;
}

static void on_streams(void *arg, const struct problem *p)
{
    const struct streams_short *s = arg;
    s->done(s->arg, p);
}

void streams_find_short(struct streams_short *s)
{
    if (s->replicas <= 1) {
        s->done(s->arg, &(struct problem){0});
        return;
    }
    s->pages = (struct pages){
        .asker = s->asker, .what = "STREAM.LIST", .item = on_stream, .done = on_streams, .arg = s};
    pages_read(&s->pages);
}
