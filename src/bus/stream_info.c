#include "bus/stream_info.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct question {
    struct loop *loop;
    int64_t asked_ns;
    stream_info_cb stream_cb;
    consumer_left_cb consumer_cb;
    void *arg;
};

static void learn(struct question *q, const json_t *root)
{
    const char *ts = json_string_value(json_object_get(root, "ts"));
    int64_t ns;
    if (ts != NULL && clock_parse_rfc3339(ts, &ns))
        clock_learn_answer(loop_clock(q->loop), ns, q->asked_ns);
}

static ax_err read_answer(struct question *q, const struct answer *a, json_t **root)
{
    *root = NULL;
    if (a->err != AX_OK)
        return a->err;
    *root = json_loadb(natsMsg_GetData(a->reply), (size_t)natsMsg_GetDataLength(a->reply), 0, NULL);
    if (!json_is_object(*root))
        return AX_E_PROTOCOL;
    const json_t *error = json_object_get(*root, "error");
    if (error == NULL) {
        learn(q, *root);
        return AX_OK;
    }
    json_int_t code = json_integer_value(json_object_get(error, "err_code"));
    return code == JSERR_STREAM_NOT_FOUND || code == JSERR_CONSUMER_NOT_FOUND ? AX_E_NOT_FOUND
                                                                              : AX_E_SERVER;
}

static int64_t integer(const json_t *o, const char *name, int64_t otherwise)
{
    const json_t *v = json_object_get(o, name);
    return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

static void on_stream(void *arg, const struct answer *a)
{
    struct question *q = arg;
    struct stream_info info = {0};
    json_t *root;
    ax_err err = read_answer(q, a, &root);
    if (err == AX_OK) {
        const json_t *state = json_object_get(root, "state"),
                     *config = json_object_get(root, "config");
        const char *created = json_string_value(json_object_get(root, "created"));
        const char *later = json_string_value(
            json_object_get(json_object_get(config, "metadata"), "ax.max_later"));
        char *end = NULL;
        snprintf(info.created, sizeof(info.created), "%s", created != NULL ? created : "");
        info.messages = (uint64_t)integer(state, "messages", 0);
        info.bytes = (uint64_t)integer(state, "bytes", 0);
        info.last_seq = (uint64_t)integer(state, "last_seq", 0);
        info.max_msgs = integer(config, "max_msgs", -1);
        info.max_bytes = integer(config, "max_bytes", -1);
        info.max_age_ns = integer(config, "max_age", 0);
        info.max_later = later != NULL ? strtoll(later, &end, 10) : -1;
        if (end == NULL || end == later || *end != '\0')
            info.max_later = -1;
        if (state == NULL)
            err = AX_E_PROTOCOL;
    }
    json_decref(root);
    q->stream_cb(q->arg, err, err == AX_OK ? &info : NULL);
    free(q);
}

static void on_consumer(void *arg, const struct answer *a)
{
    struct question *q = arg;
    json_t *root;
    uint64_t left = 0;
    ax_err err = read_answer(q, a, &root);
    if (err == AX_OK)
        left = (uint64_t)(integer(root, "num_pending", 0) + integer(root, "num_ack_pending", 0));
    json_decref(root);
    q->consumer_cb(q->arg, err, left);
    free(q);
}

static ax_err ask(struct pipeline *p, const char *subject, int64_t timeout_ms, pipeline_cb cb,
                  struct question q)
{
    struct question *kept = malloc(sizeof(*kept));
    if (kept == NULL)
        return AX_E_NOMEM;
    *kept = q;
    kept->asked_ns = loop_now_ns(q.loop);
    ax_err err = pipeline_request(p, subject, NULL, 0, timeout_ms, cb, kept);
    if (err != AX_OK)
        free(kept);
    return err;
}

ax_err stream_info_get(struct pipeline *p, struct loop *l, const char *stream, int64_t timeout_ms,
                       stream_info_cb cb, void *arg)
{
    char subject[128];
    snprintf(subject, sizeof(subject), "$JS.API.STREAM.INFO.%s", stream);
    return ask(p, subject, timeout_ms, on_stream,
               (struct question){.loop = l, .stream_cb = cb, .arg = arg});
}

ax_err consumer_left_get(struct pipeline *p, struct loop *l, const char *stream,
                         const char *consumer, int64_t timeout_ms, consumer_left_cb cb, void *arg)
{
    char subject[192];
    snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.INFO.%s.%s", stream, consumer);
    return ask(p, subject, timeout_ms, on_consumer,
               (struct question){.loop = l, .consumer_cb = cb, .arg = arg});
}
