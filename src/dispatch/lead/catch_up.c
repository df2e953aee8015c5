#include "dispatch/lead/catch_up.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bus/reader.h"
#include "dispatch/attempt/record_writer.h"
#include "dispatch/dispatch.h"
#include "done/record_find.h"

#define FOLLOW_NS 5000000000LL

struct catch_up_waiter {
    struct catch_up_waiter *next;
    uint64_t need;
    void (*cb)(void *arg);
    void *arg;
};

static void start(struct dispatch *d);

static void on_record(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    (void)seq;
    struct dispatch *d = arg;
    struct record_batch_name name;
    clock_learn(&d->clock, time_ns);
    if (!record_batch_parse_subject(subject, &name) || !record_writer_has_batch(d, &name))
        record_learn(d->filter, d->batches, d->recent, subject, msg, time_ns);
}

static void tell_waiters(struct dispatch *d)
{
    struct catch_up_waiter *w;
    while ((w = d->catch_up.waiting) != NULL && w->need <= d->catch_up.done) {
        d->catch_up.waiting = w->next;
        if (w->next == NULL)
            d->catch_up.waiting_end = NULL;
        w->cb(w->arg);
        free(w);
    }
}

static void on_end(void *arg, ax_err err, uint64_t last_seq)
{
    struct dispatch *d = arg;
    struct filter_stats s;
    d->catch_up.reading = false;
    if (err == AX_OK) {
        if (d->catch_up.done == 0) {
            filter_stats(d->filter, &s);
            log_info("filter built from AX_DONE", "records=%" PRIu64 " last_seq=%" PRIu64,
                     s.entries, last_seq);
        }
        /* Fewer than before: the bucket was recreated, and is read from its start next time. */
        d->catch_up.next_seq = last_seq + 1 < d->catch_up.next_seq ? 1 : last_seq + 1;
        d->catch_up.done = d->catch_up.started;
        d->catch_up.end_ns = loop_now_ns(d->loop);
        for (struct pool *p = d->pools; p != NULL; p = p->next)
            pool_pump(p);
        tell_waiters(d);
    }
    if (err == AX_OK && d->catch_up.wanted > d->catch_up.done && !d->catch_up.reading)
        start(d);
}

static void start(struct dispatch *d)
{
    struct reader_events events = {on_record, on_end, d};
    d->catch_up.started++;
    /* of the whole bucket: a narrower subject is slow in the server */
    d->catch_up.reading = reader_start(NULL, d->pipeline, d->loop, STREAM_DONE, ">",
                                       d->catch_up.next_seq, &events) == AX_OK;
}

uint64_t catch_up_begin(struct dispatch *d)
{
    /* one that is under way may have asked for the end already */
    d->catch_up.wanted = d->catch_up.started + 1;
    if (!d->catch_up.reading)
        start(d);
    return d->catch_up.wanted;
}

uint64_t catch_up_done(const struct dispatch *d)
{
    return d->catch_up.done;
}

ax_err catch_up_when_done(struct dispatch *d, void (*cb)(void *arg), void *arg)
{
    struct catch_up_waiter *w = malloc(sizeof(*w));
    if (w == NULL)
        return AX_E_NOMEM;
    *w = (struct catch_up_waiter){.need = catch_up_begin(d), .cb = cb, .arg = arg};
    *(d->catch_up.waiting_end != NULL ? &d->catch_up.waiting_end->next : &d->catch_up.waiting) = w;
    d->catch_up.waiting_end = w;
    return AX_OK;
}

bool catch_up_suffices(const struct pool *p)
{
    return p->dispatch->catch_up.done >= p->lead.catch_up_need;
}

void catch_up_tick(struct dispatch *d, int64_t now, bool others)
{
    if (d->catch_up.reading)
        return;
    if (d->catch_up.wanted > d->catch_up.done)
        start(d);
    else if (others && now - d->catch_up.end_ns >= FOLLOW_NS)
        catch_up_begin(d);
}
