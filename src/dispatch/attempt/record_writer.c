#include "dispatch/attempt/record_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "done/record_learn.h"
#include "task/header.h"

#define HEADERS_MAX_BYTES 512 /* of a record batch: more than it has */
#define BUCKET_WINDOW_MS (7LL * 24 * 3600 * 1000)

/* Records on their way, or still being gathered. */
struct open_batch {
    struct pool *pool;
    struct open_batch *next; /* gather->sent */
    struct record_batch_name name;
    struct record_batch batch;
    pipeline_cb cbs[RECORD_BATCH_ENTRIES_MAX];
    void *args[RECORD_BATCH_ENTRIES_MAX];
};

struct batch_writer {
    uint64_t writer;
    uint32_t number;
    struct open_batch *open, *sent; /* sent: no word of them yet */
    struct loop_later later;
};

static void send_open(struct pool *p);

/* Takes the reserved slot and the message made of data, which lives as long as the pool's
 * window. */
static ax_err publish(struct pool *p, const char *subject, const char *reply, const uint8_t *data,
                      size_t bytes, pipeline_cb cb, void *arg)
{
    natsMsg *msg = NULL;
    char ttl[24];
    snprintf(ttl, sizeof(ttl), "%" PRId64 "s", (p->settings.window_ms + 999) / 1000);
    if (natsMsg_Create(&msg, subject, reply, (const char *)data, (int)bytes) == NATS_OK &&
        p->settings.window_ms < BUCKET_WINDOW_MS && header_set(msg, HDR_TTL, ttl) != NATS_OK) {
        natsMsg_Destroy(msg); /* without it the key would be known for longer than its pool wants */
        msg = NULL;
    }
    return pipeline_publish(p->dispatch->pipeline, reply, msg, 0, cb, arg);
}

static ax_err write_one(struct pool *p, const struct record *rec, const char *id, pipeline_cb cb,
                        void *arg)
{
    char subject[SUBJECT_MAX_CHARS], reply[PIPELINE_REPLY_MAX];
    uint8_t buf[RECORD_MAX_BYTES];
    ax_err err = pipeline_reserve(p->dispatch->pipeline, reply);
    if (err != AX_OK)
        return err;
    record_subject(subject, id);
    return publish(p, subject, reply, buf, record_pack(rec, buf, sizeof(buf)), cb, arg);
}

ax_err record_writer_write(struct pool *p, const char *id, const struct record *what,
                           pipeline_cb cb, void *arg)
{
    struct record rec = *what;
    rec.finished_ns = clock_ax_ns(&p->dispatch->clock);
    snprintf(rec.pool, sizeof(rec.pool), "%s", p->name);
    return write_one(p, &rec, id, cb, arg);
}

/* ---- record batches ---- */

static void unlink_sent(struct open_batch *s)
{
    struct open_batch **at = &s->pool->batch_writer->sent;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
}

static void tell(struct open_batch *s, const struct answer *a)
{
    for (int i = 0; i < s->batch.count; i++)
        s->cbs[i](s->args[i], a);
    free(s);
}

/* They are known here from now on, also when the pool was given up meanwhile and nobody waits for
 * the answer: what we wrote ourselves is not read again when we lead it once more. */
static void learn(const struct open_batch *s)
{
    struct dispatch *d = s->pool->dispatch;
    int64_t now_ns = clock_ax_ns(&d->clock);
    const struct record_batch *batch = &s->batch;
    if (batch->count > 1)
        record_learn_batch(d->done.batches, d->done.recent, &s->name, batch, now_ns);
    else if (!name_is_keyed(batch->entries[0].task))
        record_learn_keyless(d->done.recent, batch->entries[0].task);
    for (int i = 0; i < batch->count; i++) {
        if (name_is_keyed(batch->entries[i].task)) {
            filter_add(d->done.filter, batch->entries[i].task, strlen(batch->entries[i].task),
                       now_ns);
        }
    }
}

static void on_written(void *arg, const struct answer *a)
{
    struct open_batch *s = arg;
    struct pool *p = s->pool;
    unlink_sent(s);
    if (a->err == AX_OK)
        learn(s);
    tell(s, a);
    if (p->batch_writer->sent == NULL)
        send_open(p);
}

static ax_err write_batch(struct open_batch *s)
{
    struct pool *p = s->pool;
    char subject[SUBJECT_MAX_CHARS], reply[PIPELINE_REPLY_MAX];
    uint8_t buf[RECORD_BATCH_MAX_BYTES];
    if (s->batch.count == 1) {
        struct record rec;
        record_batch_find(&s->batch, s->batch.entries[0].task, &rec);
        return write_one(p, &rec, s->batch.entries[0].task, on_written, s);
    }
    ax_err err = pipeline_reserve(p->dispatch->pipeline, reply);
    if (err != AX_OK)
        return err;
    s->name = (struct record_batch_name){p->batch_writer->writer, ++p->batch_writer->number,
                                         (uint32_t)s->batch.count};
    record_batch_subject(subject, &s->name);
    return publish(p, subject, reply, buf, record_batch_pack(&s->batch, buf), on_written, s);
}

static void send_open(struct pool *p)
{
    struct batch_writer *g = p->batch_writer;
    struct open_batch *s = g->open;
    if (s == NULL)
        return;
    g->open = NULL;
    s->next = g->sent;
    g->sent = s;
    ax_err err = write_batch(s);
    if (err != AX_OK) {
        unlink_sent(s);
        tell(s, &(struct answer){.err = err});
    }
}

/* At the end of what one read brought: the acks that came together are recorded together. */
static void on_later(void *arg)
{
    struct pool *p = arg;
    if (p->batch_writer->sent == NULL)
        send_open(p);
}

static struct open_batch *open_batch(struct pool *p)
{
    if (p->batch_writer == NULL) {
        struct batch_writer *g = calloc(1, sizeof(*g));
        if (g == NULL)
            return NULL;
        g->writer = random_u64();
        p->batch_writer = g;
    }
    if (p->batch_writer->open == NULL) {
        struct open_batch *s = malloc(sizeof(*s));
        if (s == NULL)
            return NULL;
        s->pool = p;
        s->batch.count = 0;
        snprintf(s->batch.pool, sizeof(s->batch.pool), "%s", p->name);
        p->batch_writer->open = s;
    }
    return p->batch_writer->open;
}

ax_err record_writer_write_done(struct pool *p, const char *id, const struct record *what,
                                pipeline_cb cb, void *arg)
{
    struct dispatch *d = p->dispatch;
    struct open_batch *s = open_batch(p);
    if (s == NULL)
        return AX_E_NOMEM;
    int64_t fit = (wire_max_payload(d->wire) - HEADERS_MAX_BYTES) / RECORD_BATCH_ENTRY_MAX_BYTES;
    int at = s->batch.count++;
    struct record_batch_entry *e = &s->batch.entries[at];
    snprintf(e->task, sizeof(e->task), "%s", id);
    e->attempt = what->attempt;
    e->fence = what->fence;
    e->submitted = what->submitted;
    e->finished_ns = clock_ax_ns(&d->clock);
    s->cbs[at] = cb;
    s->args[at] = arg;
    if (s->batch.count == RECORD_BATCH_ENTRIES_MAX || s->batch.count >= fit)
        send_open(p);
    else
        loop_do_later(d->loop, &p->batch_writer->later, on_later, p);
    return AX_OK;
}

void record_writer_flush(struct pool *p)
{
    if (p->batch_writer != NULL)
        send_open(p);
}

bool record_writer_has_batch(const struct dispatch *d, const struct record_batch_name *name)
{
    for (const struct pool *p = d->table.pools; p != NULL; p = p->next) {
        const struct batch_writer *g = p->batch_writer;
        if (g == NULL || g->writer != name->writer)
            continue;
        for (const struct open_batch *s = g->sent; s != NULL; s = s->next) {
            if (s->name.number == name->number && s->batch.count > 1)
                return false; /* stored, and its answer is still on the way, or was lost */
        }
        return true;
    }
    return false;
}
