#include "dispatch/lead/catch_up.h"

#include <inttypes.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/log.h"
#include "bus/reader.h"
#include "dispatch/attempt/record_writer.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pump.h"
#include "done/record_learn.h"

#define FOLLOW_NS 5000000000LL /* between readings of what others record */

struct catch_up_waiter {
    struct catch_up_waiter *prev, *next;
    uint64_t need; /* the number of the reading */
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
    bool ours = record_batch_parse_subject(subject, &name) && record_writer_has_batch(d, &name);
    if (!ours && record_learn(d->done.filter, d->done.batches, d->done.recent, subject, msg,
                              time_ns) == AX_E_PROTOCOL)
        done_view_unreadable(&d->done, subject, loop_now_ns(d->loop));
}

static void call_waiters(struct dispatch *d)
{
    struct catch_up *c = &d->catch_up;
    struct catch_up_waiter *w;
    while ((w = c->waiters) != NULL && w->need <= c->done) {
        DL_DELETE(c->waiters, w);
        w->cb(w->arg);
        free(w);
    }
}

static void on_end(void *arg, ax_err err, uint64_t last_seq)
{
    struct dispatch *d = arg;
    struct catch_up *c = &d->catch_up;
    struct filter_stats s;
    c->reading = false;
    if (err != AX_OK)
        return; /* catch_up_tick reads again */
    if (c->done == 0) {
        filter_stats(d->done.filter, &s);
        log_info("filter built from AX_DONE", "records=%" PRIu64 " last_seq=%" PRIu64, s.entries,
                 last_seq);
    }
    /* A smaller sequence than before: the bucket was recreated. The next reading begins at 1. */
    c->next_seq = last_seq + 1 < c->next_seq ? 1 : last_seq + 1;
    c->done = c->started;
    c->end_ns = loop_now_ns(d->loop);
    for (struct pool *p = d->table.pools; p != NULL; p = p->next)
        pump_soon(p);
    call_waiters(d);
    if (c->wanted > c->done && !c->reading)
        start(d);
}

static void start(struct dispatch *d)
{
    struct catch_up *c = &d->catch_up;
    struct reader_events events = {on_record, on_end, d};
    c->started++;
    /* All subjects of the bucket: the server is slow with a narrower filter. */
    c->reading = reader_start(NULL, d->pipeline, d->loop, STREAM_DONE, ">",
                              c->next_seq > 0 ? c->next_seq : 1, &events) == AX_OK;
}

uint64_t catch_up_begin(struct dispatch *d)
{
    /* A reading under way may have passed what was stored just now: it takes the next one. */
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
    DL_APPEND(d->catch_up.waiters, w);
    return AX_OK;
}

bool catch_up_suffices(const struct pool *p)
{
    return p->dispatch->catch_up.done >= p->lead.catch_up_need;
}

void catch_up_tick(struct dispatch *d, int64_t now_ns, bool others)
{
    struct catch_up *c = &d->catch_up;
    if (c->reading)
        return;
    if (c->wanted > c->done)
        start(d);
    else if (others && now_ns - c->end_ns >= FOLLOW_NS)
        catch_up_begin(d);
}
