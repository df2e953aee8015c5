#include "bus/stream_info.h"

#include <stdio.h>
#include <stdlib.h>

#include "bus/api.h"

struct question {
    stream_info_cb cb;
    void *arg;
};

/* -1: not there, or no number. */
static int64_t read_number(const json_t *metadata, const char *name)
{
    const char *text = json_string_value(json_object_get(metadata, name));
    char *end = NULL;
    int64_t n = text != NULL ? strtoll(text, &end, 10) : -1;
    return end == text || (end != NULL && *end != '\0') ? -1 : n;
}

bool stream_info_share(const char *text, double otherwise, double *share)
{
    char *end = NULL;
    double n = text != NULL ? strtod(text, &end) : otherwise;
    bool ok = text == NULL || (end != text && *end == '\0' && n >= 0 && n <= 1);
    *share = ok ? n : otherwise;
    return ok;
}

static void read_config(const json_t *config, struct stream_info *out)
{
    const json_t *metadata = json_object_get(config, "metadata");
    const json_t *subjects = json_object_get(config, "subjects");
    out->name = json_string_value(json_object_get(config, "name"));
    out->subject = json_string_value(json_array_get(subjects, 0));
    out->subject_count = json_array_size(subjects);
    out->replicas = (int)api_integer(config, "num_replicas", 1);
    out->max_msgs = api_integer(config, "max_msgs", -1);
    out->max_bytes = api_integer(config, "max_bytes", -1);
    out->max_age_ns = api_integer(config, "max_age", 0);
    out->rank = json_string_value(json_object_get(metadata, "ax.rank"));
    out->on_full = json_string_value(json_object_get(metadata, "ax.on_full"));
    out->group_share = json_string_value(json_object_get(metadata, "ax.group_share"));
    out->pool_share = json_string_value(json_object_get(metadata, "ax.pool_share"));
    out->max_later = read_number(metadata, "ax.max_later");
    out->max_later_bytes = read_number(metadata, "ax.max_later_bytes");
    out->max_dead_bytes = read_number(metadata, "ax.max_dead_bytes");
    out->max_schedules = read_number(metadata, "ax.max_schedules");
}

ax_err stream_info_read(const json_t *answer, struct stream_info *out)
{
    const json_t *state = json_object_get(answer, "state");
    *out = (struct stream_info){0};
    read_config(json_object_get(answer, "config"), out);
    /* a server that is alone names only itself there */
    out->clustered = json_object_get(json_object_get(answer, "cluster"), "name") != NULL;
    out->created_ns = api_time_ns(answer, "created");
    out->ts_ns = api_time_ns(answer, "ts");
    out->first_ns = api_time_ns(state, "first_ts");
    out->messages = (uint64_t)api_integer(state, "messages", 0);
    out->bytes = (uint64_t)api_integer(state, "bytes", 0);
    out->first_seq = (uint64_t)api_integer(state, "first_seq", 0);
    out->last_seq = (uint64_t)api_integer(state, "last_seq", 0);
    out->consumers = api_integer(state, "consumer_count", 0);
    return state != NULL && out->name != NULL ? AX_OK : AX_E_PROTOCOL;
}

static void on_answer(void *arg, const struct api_answer *a)
{
    struct question *q = arg;
    struct stream_info info;
    ax_err err = a->err == AX_OK ? stream_info_read(a->root, &info) : a->err;
    if (err == AX_E_SERVER && a->err_code == JSERR_STREAM_NOT_FOUND)
        err = AX_E_NOT_FOUND;
    q->cb(q->arg, err, err == AX_OK ? &info : NULL);
    free(q);
}

ax_err stream_info_get(struct pipeline *p, struct loop *l, const char *stream, int64_t timeout_ms,
                       stream_info_cb cb, void *arg)
{
    char what[128];
    snprintf(what, sizeof(what), "STREAM.INFO.%s", stream);
    struct question *q = malloc(sizeof(*q));
    if (q == NULL)
        return AX_E_NOMEM;
    *q = (struct question){cb, arg};
    ax_err err = api_ask(p, l, what, NULL, timeout_ms, on_answer, q);
    if (err != AX_OK)
        free(q);
    return err;
}
