#include "dispatch/seen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/reader.h"
#include "core/record_find.h"
#include "dispatch/dispatch.h"
#include "dispatch/records.h"

#define FOLLOW_NS 5000000000LL

struct seen_waiter {
    struct seen_waiter *next;
    uint64_t need;
    void (*cb)(void *arg);
    void *arg;
};

static void start(struct dispatch *d);

static void on_record(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    (void)seq;
    struct dispatch *d = arg;
    struct page_name name;
    clock_learn(&d->clock, time_ns);
    if (!page_parse_subject(subject, &name) || !records_have_page(d, &name))
        record_learn(d->filter, d->pages, d->recent, subject, msg, time_ns);
}

static void tell_waiters(struct dispatch *d)
{
    struct seen_waiter *w;
    while ((w = d->seen.waiting) != NULL && w->need <= d->seen.done) {
        d->seen.waiting = w->next;
        if (w->next == NULL)
            d->seen.waiting_end = NULL;
        w->cb(w->arg);
        free(w);
    }
}

static void on_end(void *arg, ax_err err, uint64_t last_seq)
{
    struct dispatch *d = arg;
    struct filter_stats s;
    d->seen.reading = false;
    if (err == AX_OK) {
        if (d->seen.done == 0) {
            filter_stats(d->filter, &s);
            log_info("filter built from AX_DONE", "records=%" PRIu64 " last_seq=%" PRIu64,
                     s.entries, last_seq);
        }
        /* Fewer than before: the bucket was recreated, and is read from its start next time. */
        d->seen.next_seq = last_seq + 1 < d->seen.next_seq ? 1 : last_seq + 1;
        d->seen.done = d->seen.started;
        d->seen.end_ns = loop_now_ns(d->loop);
        for (struct pool *p = d->pools; p != NULL; p = p->next)
            pool_pump(p);
        tell_waiters(d);
    }
    if (err == AX_OK && d->seen.wanted > d->seen.done && !d->seen.reading)
        start(d);
}

static void start(struct dispatch *d)
{
    struct reader_events events = {on_record, on_end, d};
    d->seen.started++;
    /* of the whole bucket: a narrower subject is slow in the server */
    d->seen.reading = reader_start(NULL, d->nc, d->pipeline, d->loop, STREAM_DONE, ">",
                                   d->seen.next_seq, &events) == AX_OK;
}

uint64_t seen_catch_up(struct dispatch *d)
{
    /* one that is under way may have asked for the end already */
    d->seen.wanted = d->seen.started + 1;
    if (!d->seen.reading)
        start(d);
    return d->seen.wanted;
}

uint64_t seen_done(const struct dispatch *d)
{
    return d->seen.done;
}

ax_err seen_when_caught_up(struct dispatch *d, void (*cb)(void *arg), void *arg)
{
    struct seen_waiter *w = malloc(sizeof(*w));
    if (w == NULL)
        return AX_E_NOMEM;
    *w = (struct seen_waiter){.need = seen_catch_up(d), .cb = cb, .arg = arg};
    *(d->seen.waiting_end != NULL ? &d->seen.waiting_end->next : &d->seen.waiting) = w;
    d->seen.waiting_end = w;
    return AX_OK;
}

bool seen_suffices(const struct pool *p)
{
    return p->dispatch->seen.done >= p->seen_need;
}

void seen_tick(struct dispatch *d, int64_t now, bool others)
{
    if (d->seen.reading)
        return;
    if (d->seen.wanted > d->seen.done)
        start(d);
    else if (others && now - d->seen.end_ns >= FOLLOW_NS)
        seen_catch_up(d);
}
