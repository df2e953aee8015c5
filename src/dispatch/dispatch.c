#include "dispatch/dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "dispatch/lead/catch_up.h"
#include "dispatch/listen.h"
#include "dispatch/pool/tend.h"
#include "task/peer/instance.h"

#define PIPELINE_SLOTS 16384
#define TICK_MS 1000

double dispatch_random(struct dispatch *d)
{
    /* xorshift64* (Vigna 2016): jitter needs no more */
    d->random ^= d->random >> 12;
    d->random ^= d->random << 25;
    d->random ^= d->random >> 27;
    return (double)((d->random * 2685821657736338717ULL) >> 11) / 9007199254740992.0;
}

struct pool *dispatch_pool(struct dispatch *d, const char *name)
{
    return pool_table_find(d, name);
}

void dispatch_set_epoch(struct dispatch *d, int64_t created_ns)
{
    int64_t before = d->work_epoch_ns;
    d->work_epoch_ns = created_ns;
    if (before == 0 || before == created_ns)
        return;
    log_warn("AX_WORK was recreated: what was in it is handed off again", NULL);
    for (struct pool *p = d->table.pools; p != NULL; p = p->next)
        pool_work_recreated(p);
}

/* ---- running ---- */

static void on_tick(void *arg)
{
    struct dispatch *d = arg;
    bool ready = catch_up_done(d) > 0 && d->priorities.count > 0 && d->assignment.started &&
                 d->table.read;
    for (struct pool *p = d->table.pools; p != NULL; p = p->next) {
        tend_pool(p);
        /* One pool whose consumers cannot be made does not make the others unready. */
        bool failed = p->consumer.why_failed[0] != '\0';
        ready = ready && (p->lead.ready || failed || pool_is_led_elsewhere(p));
    }
    pool_table_count(d);
    atomic_store(&d->is_ready, ready);
    done_view_tick(&d->done, &d->clock, loop_now_ns(d->loop));
    loop_timer_start(d->loop, &d->tick, ready ? TICK_MS : TICK_MS / 20, on_tick, d);
}

/* The process may have been stopped for a while: what it led may be led by another now. */
static void on_wake(void *arg)
{
    struct dispatch *d = arg;
    int64_t now = loop_now_ns(d->loop);
    for (struct pool *p = d->table.pools; p != NULL; p = p->next)
        leadership_check(&p->leadership, now);
}

static void on_reconnected(void *arg)
{
    struct dispatch *d = arg;
    loop_enter(d->loop);
    if (d->provisioner != NULL) { /* otherwise the start is still under way */
        on_wake(d);               /* what is not led any more is not sent */
        pipeline_reconnected(d->pipeline);
        for (struct pool *p = d->table.pools; p != NULL; p = p->next)
            pool_reconnected(p);
        pool_table_read(d); /* changes made while we did not listen */
        provisioner_look_again(d->provisioner);
    }
    loop_leave(d->loop);
}

/* ---- streams and consumers ---- */

void dispatch_kick(struct dispatch *d)
{
    provisioner_kick(d->provisioner);
}

void dispatch_kick_pool(struct dispatch *d, const struct pool *p)
{
    provisioner_kick_pool(d->provisioner, p->name);
}

static void on_priorities(void *arg, const struct priorities *ps)
{
    struct dispatch *d = arg;
    d->priorities = *ps;
}

static void on_work_created(void *arg, int64_t created_ns)
{
    dispatch_set_epoch(arg, created_ns);
}

static void on_pool_provisioned(void *arg, const char *name, const struct priorities *ps)
{
    struct pool *pool = dispatch_pool(arg, name);
    if (pool == NULL)
        return; /* removed meanwhile */
    pool_set_priorities(pool, ps);
    pool_set_provisioned(pool);
}

static void on_pool_failed(void *arg, const char *name, const struct problem *p)
{
    struct pool *pool = dispatch_pool(arg, name);
    if (pool != NULL)
        work_consumer_failed(pool, p);
}

static ax_err start_provisioner(struct dispatch *d)
{
    const struct provisioner_config config = {
        .replicas = (int)d->options->replicas,
        .trouble = "JetStream not ready",
        .priorities = on_priorities,
        .work_created = on_work_created,
        .pool = on_pool_provisioned,
        .pool_failed = on_pool_failed,
        .arg = d,
    };
    return provisioner_start(&d->provisioner, d->wire, d->pipeline, &config);
}

/* ---- start and end ---- */

static void begin(struct dispatch *d)
{
    catch_up_begin(d);
    pool_table_start(d);
    assignment_start(d);
    on_tick(d);
}

ax_err dispatch_start(struct dispatch *d, const struct options *o, struct problem *p)
{
    d->options = o;
    clock_init(&d->clock);
    d->random = random_u64() | 1; /* never 0, from which there is no way on */
    d->events = (struct wire_events){.reconnected = on_reconnected, .arg = d};
    ax_err err = loop_new(&d->loop, &d->clock);
    instance_new(d->instance);
    if (err == AX_OK)
        err = done_view_init(&d->done, (int)o->filter_entries);
    if (err != AX_OK)
        return problem_set(p, err, "cannot start: %s", ax_err_text(err));
    replies_init(&d->replies, d->loop, o, "ax_dispatch_replies_refused_total");
    loop_on_wake(d->loop, on_wake, d);
    err = wire_open(&d->wire, o, d->loop, "ax-dispatch", &d->events, p);
    if (err != AX_OK)
        return err;
    loop_enter(d->loop);
    err = pipeline_new(&d->pipeline, d->wire, d->loop, PIPELINE_SLOTS);
    if (err == AX_OK)
        err = listen_start(d);
    if (err == AX_OK)
        err = start_provisioner(d);
    if (err == AX_OK)
        begin(d);
    loop_leave(d->loop);
    return err == AX_OK ? AX_OK : problem_set(p, err, "cannot start: %s", ax_err_text(err));
}

void dispatch_stop(struct dispatch *d)
{
    wire_close(d->wire);
}
