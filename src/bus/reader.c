#include "bus/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/rfc3339.h"
#include "bus/pipeline_get.h"
#include "bus/stream_info.h"

#define BATCH 512
#define IDLE_MS 3000
#define RETRY_MS 500

struct reader {
    struct pipeline *pipeline;
    struct loop *loop;
    struct reader_events events;
    char stream[64];
    char filter[192];
    uint64_t next_seq, last_seq;
    bool busy;      /* a request is under way */
    bool cancelled; /* the request's answer frees it */
    struct loop_timer timer;
};

static void read_batch(void *arg);
static void read_info(void *arg);
static void ask_leader(void *arg);

static void finish(struct reader *r, ax_err err)
{
    struct reader_events e = r->events;
    uint64_t last = r->last_seq;
    loop_timer_stop(r->loop, &r->timer);
    free(r);
    e.end(e.arg, err, last);
}

/* An answer came. True: nobody wants it any more, and the reader was freed. */
static bool freed_if_cancelled(struct reader *r)
{
    r->busy = false;
    if (!r->cancelled)
        return false;
    free(r);
    return true;
}

/* Somebody who stored a message may have given it a header of that name; the server's own comes
 * last. */
static const char *last_value(natsMsg *msg, const char *name)
{
    const char **values = NULL;
    int n = 0;
    if (natsMsgHeader_Values(msg, name, &values, &n) != NATS_OK || n == 0)
        return NULL;
    const char *v = values[n - 1];
    free((void *)values);
    return v;
}

/* The batch is over. Always false: no further answer belongs to it. */
static bool read_again(struct reader *r)
{
    if (!freed_if_cancelled(r))
        loop_timer_start(r->loop, &r->timer, RETRY_MS, read_batch, r);
    return false;
}

/* 204: the end of a batch; 404: the replica has nothing from next_seq on. */
static bool on_status(struct reader *r, const char *status)
{
    if (strcmp(status, "404") != 0 && strcmp(status, "204") != 0)
        return read_again(r);
    if (freed_if_cancelled(r))
        return false;
    if (strcmp(status, "404") == 0)
        ask_leader(r);
    else
        read_batch(r);
    return false;
}

static bool on_stored(struct reader *r, natsMsg *msg)
{
    const char *subject = last_value(msg, "Nats-Subject");
    const char *seq = last_value(msg, "Nats-Sequence");
    const char *time = last_value(msg, "Nats-Time-Stamp");
    int64_t time_ns = 0;
    if (subject == NULL || seq == NULL) /* no memory: not passed over, but read again */
        return read_again(r);
    r->next_seq = strtoull(seq, NULL, 10) + 1;
    if (time != NULL)
        rfc3339_parse(time, &time_ns);
    if (!r->cancelled)
        r->events.message(r->events.arg, subject, r->next_seq - 1, time_ns, msg);
    return true;
}

/* NULL: msg is a stored one, which may have any header Status. A sequence comes with those only. */
static const char *status_of(natsMsg *msg)
{
    const char *status = NULL;
    if (last_value(msg, "Nats-Sequence") != NULL ||
        natsMsgHeader_Get(msg, "Status", &status) != NATS_OK)
        return NULL;
    return status;
}

static bool on_reply(void *arg, const struct answer *a)
{
    struct reader *r = arg;
    if (a->err != AX_OK)
        return read_again(r);
    const char *status = status_of(a->reply);
    return status != NULL ? on_status(r, status) : on_stored(r, a->reply);
}

static void read_batch(void *arg)
{
    struct reader *r = arg;
    char api[128], body[320];
    if (r->next_seq > r->last_seq) {
        finish(r, AX_OK);
        return;
    }
    snprintf(api, sizeof(api), "$JS.API.DIRECT.GET.%s", r->stream);
    int n = snprintf(body, sizeof(body),
                     "{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\",\"batch\":%d}", r->next_seq,
                     r->filter, BATCH);
    r->busy = true;
    if (pipeline_request_many(r->pipeline, api, body, (size_t)n, IDLE_MS, on_reply, r) != AX_OK) {
        r->busy = false;
        loop_timer_start(r->loop, &r->timer, RETRY_MS, read_batch, r);
    }
}

/* ---- a replica has nothing more; its leader may (docs/design/clusters.md) ---- */

static void on_leader(void *arg, ax_err err, const struct stored_msg *found)
{
    struct reader *r = arg;
    if (freed_if_cancelled(r))
        return;
    if (err == AX_E_NOT_FOUND || (err == AX_OK && found->seq > r->last_seq))
        finish(r, AX_OK);
    else
        loop_timer_start(r->loop, &r->timer, RETRY_MS, err == AX_OK ? read_batch : ask_leader, r);
}

static void ask_leader(void *arg)
{
    struct reader *r = arg;
    r->busy = true;
    if (pipeline_get(r->pipeline, r->stream, r->filter, r->next_seq, IDLE_MS, on_leader, r) !=
        AX_OK) {
        r->busy = false;
        loop_timer_start(r->loop, &r->timer, RETRY_MS, ask_leader, r);
    }
}

/* What is read is judged by its age: this answer sets the clock before the first message comes. */
static void on_info(void *arg, ax_err err, const struct stream_info *info)
{
    struct reader *r = arg;
    if (freed_if_cancelled(r))
        return;
    if (err != AX_OK) {
        loop_timer_start(r->loop, &r->timer, RETRY_MS, read_info, r);
        return;
    }
    r->last_seq = info->last_seq;
    read_batch(r);
}

static void read_info(void *arg)
{
    struct reader *r = arg;
    r->busy = true;
    if (stream_info_get(r->pipeline, r->loop, r->stream, IDLE_MS, on_info, r) != AX_OK) {
        r->busy = false;
        loop_timer_start(r->loop, &r->timer, RETRY_MS, read_info, r);
    }
}

ax_err reader_start(struct reader **out, struct pipeline *p, struct loop *l, const char *stream,
                    const char *filter, uint64_t from_seq, const struct reader_events *events)
{
    struct reader *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return AX_E_NOMEM;
    r->pipeline = p;
    r->loop = l;
    r->events = *events;
    r->next_seq = from_seq > 0 ? from_seq : 1;
    snprintf(r->stream, sizeof(r->stream), "%s", stream);
    snprintf(r->filter, sizeof(r->filter), "%s", filter);
    if (out != NULL)
        *out = r;
    read_info(r);
    return AX_OK;
}

void reader_cancel(struct reader *r)
{
    if (r == NULL)
        return;
    loop_timer_stop(r->loop, &r->timer);
    if (r->busy)
        r->cancelled = true;
    else
        free(r);
}

/* ---- counting */

struct count {
    reader_count_cb cb;
    void *arg;
};

/* A batch of one message says how many come after it. */
static bool on_count(void *arg, const struct answer *a)
{
    struct count *c = arg;
    const char *status = NULL, *pending = NULL;
    ax_err err = a->err;
    uint64_t messages = 0;
    if (err == AX_OK && (status = status_of(a->reply)) != NULL)
        err = strcmp(status, "404") == 0 ? AX_OK : AX_E_PROTOCOL;
    else if (err == AX_OK && (pending = last_value(a->reply, "Nats-Num-Pending")) != NULL)
        messages = strtoull(pending, NULL, 10) + 1;
    else if (err == AX_OK)
        err = AX_E_PROTOCOL;
    c->cb(c->arg, err, messages);
    free(c);
    return false;
}

ax_err reader_count(struct pipeline *p, const char *stream, const char *filter, int64_t timeout_ms,
                    reader_count_cb cb, void *arg)
{
    char api[128], body[320];
    struct count *c = malloc(sizeof(*c));
    if (c == NULL)
        return AX_E_NOMEM;
    *c = (struct count){cb, arg};
    snprintf(api, sizeof(api), "$JS.API.DIRECT.GET.%s", stream);
    int n = snprintf(body, sizeof(body), "{\"seq\":1,\"next_by_subj\":\"%s\",\"batch\":1}", filter);
    ax_err err = pipeline_request_many(p, api, body, (size_t)n, timeout_ms, on_count, c);
    if (err != AX_OK)
        free(c);
    return err;
}
