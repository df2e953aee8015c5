#include "dispatch/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/header.h"
#include "core/record_find.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool.h"

#define HEADERS_MAX_BYTES 512 /* of a page: more than it has */
#define BUCKET_WINDOW_MS (7LL * 24 * 3600 * 1000)

/* Records on their way, or still being gathered. */
struct sheet {
    struct pool *pool;
    struct sheet *next; /* gather->sent */
    struct page_name name;
    struct page page;
    pipeline_cb cbs[PAGE_ENTRIES_MAX];
    void *args[PAGE_ENTRIES_MAX];
};

struct gather {
    uint64_t writer;
    uint32_t number;
    struct sheet *open, *sent; /* sent: no word of them yet */
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
    if (natsMsg_Create(&msg, subject, reply, (const char *)data, (int)bytes) == NATS_OK &&
        p->settings.window_ms < BUCKET_WINDOW_MS) {
        snprintf(ttl, sizeof(ttl), "%" PRId64 "s", (p->settings.window_ms + 999) / 1000);
        header_set(msg, HDR_TTL, ttl);
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

ax_err records_write(struct pool *p, enum record_state state, const char *id, uint32_t attempt,
                     uint64_t fence, pipeline_cb cb, void *arg)
{
    struct record rec = {.state = state,
                         .attempt = attempt,
                         .fence = fence,
                         .finished_ns = clock_ax_ns(&p->dispatch->clock)};
    snprintf(rec.pool, sizeof(rec.pool), "%s", p->name);
    return write_one(p, &rec, id, cb, arg);
}

/* ---- pages ---- */

static void unlink_sent(struct sheet *s)
{
    struct sheet **at = &s->pool->gather->sent;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
}

static void tell(struct sheet *s, const struct answer *a)
{
    for (int i = 0; i < s->page.count; i++)
        s->cbs[i](s->args[i], a);
    free(s);
}

/* They are known here from now on, also when the pool was given up meanwhile and nobody waits for
 * the answer: what we wrote ourselves is not read again when we lead it once more. */
static void learn(const struct sheet *s)
{
    struct dispatch *d = s->pool->dispatch;
    int64_t now_ns = clock_ax_ns(&d->clock);
    const struct page *page = &s->page;
    if (page->count > 1)
        record_learn_page(d->pages, d->recent, &s->name, page, now_ns);
    else if (!name_is_keyed(page->entries[0].task))
        record_learn_keyless(d->recent, page->entries[0].task);
    for (int i = 0; i < page->count; i++) {
        if (name_is_keyed(page->entries[i].task))
            filter_add(d->filter, page->entries[i].task, strlen(page->entries[i].task), now_ns);
    }
}

static void on_written(void *arg, const struct answer *a)
{
    struct sheet *s = arg;
    struct pool *p = s->pool;
    unlink_sent(s);
    if (a->err == AX_OK)
        learn(s);
    tell(s, a);
    if (p->gather->sent == NULL)
        send_open(p);
}

static ax_err write_sheet(struct sheet *s)
{
    struct pool *p = s->pool;
    char subject[SUBJECT_MAX_CHARS], reply[PIPELINE_REPLY_MAX];
    uint8_t buf[PAGE_MAX_BYTES];
    if (s->page.count == 1) {
        struct record rec;
        page_find(&s->page, s->page.entries[0].task, &rec);
        return write_one(p, &rec, s->page.entries[0].task, on_written, s);
    }
    ax_err err = pipeline_reserve(p->dispatch->pipeline, reply);
    if (err != AX_OK)
        return err;
    s->name = (struct page_name){p->gather->writer, ++p->gather->number, (uint32_t)s->page.count};
    page_subject(subject, &s->name);
    return publish(p, subject, reply, buf, page_pack(&s->page, buf), on_written, s);
}

static void send_open(struct pool *p)
{
    struct gather *g = p->gather;
    struct sheet *s = g->open;
    if (s == NULL)
        return;
    g->open = NULL;
    s->next = g->sent;
    g->sent = s;
    ax_err err = write_sheet(s);
    if (err != AX_OK) {
        unlink_sent(s);
        tell(s, &(struct answer){.err = err});
    }
}

/* At the end of what one read brought: the receipts that came together go together. */
static void on_later(void *arg)
{
    struct pool *p = arg;
    if (p->gather->sent == NULL)
        send_open(p);
}

static struct sheet *open_sheet(struct pool *p)
{
    if (p->gather == NULL) {
        struct gather *g = calloc(1, sizeof(*g));
        if (g == NULL ||
            getrandom(&g->writer, sizeof(g->writer), 0) != (ssize_t)sizeof(g->writer)) {
            free(g);
            return NULL;
        }
        p->gather = g;
    }
    if (p->gather->open == NULL) {
        struct sheet *s = malloc(sizeof(*s));
        if (s == NULL)
            return NULL;
        s->pool = p;
        s->page.count = 0;
        snprintf(s->page.pool, sizeof(s->page.pool), "%s", p->name);
        p->gather->open = s;
    }
    return p->gather->open;
}

ax_err records_write_done(struct pool *p, const char *id, uint32_t attempt, uint64_t fence,
                          pipeline_cb cb, void *arg)
{
    struct dispatch *d = p->dispatch;
    struct sheet *s = open_sheet(p);
    if (s == NULL)
        return AX_E_NOMEM;
    int64_t fit = (natsConnection_GetMaxPayload(d->nc) - HEADERS_MAX_BYTES) / PAGE_ENTRY_MAX_BYTES;
    int at = s->page.count++;
    struct page_entry *e = &s->page.entries[at];
    snprintf(e->task, sizeof(e->task), "%s", id);
    e->attempt = attempt;
    e->fence = fence;
    e->finished_ns = clock_ax_ns(&d->clock);
    s->cbs[at] = cb;
    s->args[at] = arg;
    if (s->page.count == PAGE_ENTRIES_MAX || s->page.count >= fit)
        send_open(p);
    else
        loop_do_later(d->loop, &p->gather->later, on_later, p);
    return AX_OK;
}

void records_flush(struct pool *p)
{
    if (p->gather != NULL)
        send_open(p);
}

bool records_have_page(const struct dispatch *d, const struct page_name *name)
{
    for (const struct pool *p = d->pools; p != NULL; p = p->next) {
        const struct gather *g = p->gather;
        if (g == NULL || g->writer != name->writer)
            continue;
        for (const struct sheet *s = g->sent; s != NULL; s = s->next) {
            if (s->name.number == name->number && s->page.count > 1)
                return false; /* stored, and its answer is still on the way, or was lost */
        }
        return true;
    }
    return false;
}
