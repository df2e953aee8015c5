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

#define POOLS_LOOK_MS 100
#define POOLS_LOOK_AGAIN_MS 1000
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
    for (struct pool *p = d->pools; p != NULL; p = p->next) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

void dispatch_set_epoch(struct dispatch *d, int64_t created_ns)
{
    int64_t before = d->work_epoch_ns;
    d->work_epoch_ns = created_ns;
    if (before == 0 || before == created_ns)
        return;
    log_warn("AX_WORK was recreated: what was in it is handed off again", NULL);
    for (struct pool *p = d->pools; p != NULL; p = p->next)
        pool_work_recreated(p);
}

/* ---- pool settings ---- */

void dispatch_pool_value(struct dispatch *d, const char *subject, natsMsg *msg)
{
    const char *name = subject + strlen(POOLS_PREFIX);
    const char *op = NULL;
    struct settings s;
    ax_err err = AX_OK;
    struct problem p;
    char buf[400];
    if (strncmp(subject, POOLS_PREFIX, strlen(POOLS_PREFIX)) != 0 || !name_is_valid(name))
        return;
    if (natsMsgHeader_Get(msg, "KV-Operation", &op) == NATS_OK && op != NULL) {
        log_info("pool settings removed, defaults from now on", "pool=%s", name);
        settings_default(&s);
    } else if ((err = settings_parse(&s, natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg),
                                     &p)) == AX_E_NOMEM) {
        log_error("out of memory for pool settings, reading them again", "pool=%s", name);
        dispatch_look_pools(d);
        return;
    } else if (err != AX_OK) {
        log_error("pool settings refused, the old ones stay", "pool=%s error=%s", name,
                  log_quote(p.text, buf, sizeof(buf)));
        if (dispatch_pool(d, name) != NULL)
            return;
        settings_default(&s);
    }
    struct pool *pool = dispatch_pool(d, name);
    if (pool == NULL) {
        pool = pool_new(d, name);
        if (pool == NULL)
            memory_fatal("a pool"); /* its tasks would wait for ever */
        pool->next = d->pools;
        d->pools = pool;
        if (provisioner_add_pool(d->provisioner, name) != AX_OK)
            memory_fatal("a pool");
        assignment_kick(d);
    }
    pool_set_settings(pool, &s);
}

static void on_pool_value(void *arg, const char *subject, uint64_t seq, int64_t time_ns,
                          natsMsg *msg)
{
    (void)seq;
    struct dispatch *d = arg;
    clock_learn(&d->clock, time_ns);
    dispatch_pool_value(d, subject, msg);
}

static void on_pools_end(void *arg, ax_err err, uint64_t last_seq)
{
    (void)last_seq;
    struct dispatch *d = arg;
    if (err == AX_OK)
        dispatch_kick(d);
}

static void read_pools(struct dispatch *d)
{
    struct reader_events events = {on_pool_value, on_pools_end, d};
    if (reader_start(NULL, d->pipeline, d->loop, STREAM_POOLS, POOLS_PREFIX ">", 1, &events) !=
        AX_OK)
        dispatch_look_pools(d);
}

static void on_pools_timer(void *arg)
{
    struct dispatch *d = arg;
    read_pools(d);
    /* Twice, for a server that takes its time. */
    if (--d->pools_reread.left > 0)
        loop_timer_start(d->loop, &d->pools_reread.timer, POOLS_LOOK_AGAIN_MS, on_pools_timer, d);
}

void dispatch_look_pools(struct dispatch *d)
{
    d->pools_reread.left = 2;
    loop_timer_start(d->loop, &d->pools_reread.timer, POOLS_LOOK_MS, on_pools_timer, d);
}

/* ---- running ---- */

static void on_tick(void *arg)
{
    struct dispatch *d = arg;
    bool ready = catch_up_done(d) > 0 && d->priorities.count > 0 && d->assignment.started;
    for (struct pool *p = d->pools; p != NULL; p = p->next) {
        tend_pool(p);
        ready = ready && (p->lead.ready || pool_is_led_elsewhere(p));
    }
    atomic_store(&d->is_ready, ready);
    done_view_tick(&d->done, &d->clock, loop_now_ns(d->loop));
    loop_timer_start(d->loop, &d->tick, ready ? TICK_MS : TICK_MS / 20, on_tick, d);
}

/* The process may have been stopped for a while: what it led may be led by another now. */
static void on_wake(void *arg)
{
    struct dispatch *d = arg;
    int64_t now = loop_now_ns(d->loop);
    for (struct pool *p = d->pools; p != NULL; p = p->next)
        leadership_check(&p->leadership, now);
}

static void on_reconnected(void *arg)
{
    struct dispatch *d = arg;
    loop_enter(d->loop);
    if (d->provisioner != NULL) { /* otherwise the start is still under way */
        on_wake(d);               /* what is not led any more is not sent */
        pipeline_reconnected(d->pipeline);
        for (struct pool *p = d->pools; p != NULL; p = p->next)
            pool_reconnected(p);
        read_pools(d); /* changes made while we did not listen */
        dispatch_kick(d);
    }
    loop_leave(d->loop);
}

/* ---- streams and consumers ---- */

void dispatch_kick(struct dispatch *d)
{
    provisioner_kick(d->provisioner);
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
    pool_set_priorities(pool, ps);
    pool_set_provisioned(pool);
}

static ax_err start_provisioner(struct dispatch *d)
{
    const struct provisioner_config config = {
        .replicas = (int)d->options->replicas,
        .trouble = "JetStream not ready",
        .priorities = on_priorities,
        .work_created = on_work_created,
        .pool = on_pool_provisioned,
        .arg = d,
    };
    return provisioner_start(&d->provisioner, d->wire, d->pipeline, &config);
}

/* ---- start and end ---- */

static void begin(struct dispatch *d)
{
    catch_up_begin(d);
    read_pools(d);
    /* one that was published just before we listened may not have been stored when we read */
    dispatch_look_pools(d);
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
