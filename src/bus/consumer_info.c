#include "bus/consumer_info.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "bus/api.h"

/* Nothing is computed with more: an operator can set any ack wait, and an answer hold any number.
 */
#define ACK_WAIT_MAX_NS (365LL * 24 * 3600 * 1000000000LL)
#define COUNT_MAX 1000000000000LL

struct question {
    consumer_info_cb cb;
    void *arg;
};

static int64_t count(const json_t *answer, const char *name)
{
    return saturate_clamp(api_integer(answer, name, 0), 0, COUNT_MAX);
}

int64_t consumer_info_ack_wait_ns(const json_t *config)
{
    return saturate_clamp(api_integer(config, "ack_wait", 0), 0, ACK_WAIT_MAX_NS);
}

ax_err consumer_info_read(const json_t *answer, struct consumer_info *out)
{
    const json_t *config = json_object_get(answer, "config");
    const json_t *delivered = json_object_get(answer, "delivered");
    *out = (struct consumer_info){
        .ts_ns = api_time_ns(answer, "ts"),
        .created_ns = api_time_ns(answer, "created"),
        .ack_wait_ns = consumer_info_ack_wait_ns(config),
        .max_ack_pending = api_integer(config, "max_ack_pending", 0),
        .max_deliver = api_integer(config, "max_deliver", 0),
        .delivered_stream_seq = (uint64_t)api_integer(delivered, "stream_seq", 0),
        .delivered_consumer_seq = (uint64_t)api_integer(delivered, "consumer_seq", 0),
        .num_ack_pending = count(answer, "num_ack_pending"),
        .num_pending = count(answer, "num_pending"),
        .num_waiting = count(answer, "num_waiting"),
        .paused = json_is_true(json_object_get(answer, "paused")),
        .leader = json_string_value(json_object_get(json_object_get(answer, "cluster"), "leader")),
        .config = config,
    };
    return json_is_object(config) && json_is_object(delivered) ? AX_OK : AX_E_PROTOCOL;
}

static void on_answer(void *arg, const struct api_answer *a)
{
    struct question *q = arg;
    struct consumer_info info;
    ax_err err = a->err == AX_OK ? consumer_info_read(a->root, &info) : a->err;
    if (err == AX_E_SERVER &&
        (a->err_code == JSERR_CONSUMER_NOT_FOUND || a->err_code == JSERR_STREAM_NOT_FOUND))
        err = AX_E_NOT_FOUND;
    q->cb(q->arg, err, err == AX_OK ? &info : NULL);
    free(q);
}

ax_err consumer_info_get(struct pipeline *p, struct loop *l, const char *stream,
                         const char *consumer, int64_t timeout_ms, consumer_info_cb cb, void *arg)
{
    char what[192];
    snprintf(what, sizeof(what), "CONSUMER.INFO.%s.%s", stream, consumer);
    struct question *q = malloc(sizeof(*q));
    if (q == NULL)
        return AX_E_NOMEM;
    *q = (struct question){cb, arg};
    ax_err err = api_ask(p, l, what, NULL, timeout_ms, on_answer, q);
    if (err != AX_OK)
        free(q);
    return err;
}
