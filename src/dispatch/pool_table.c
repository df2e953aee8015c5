#include "dispatch/pool_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/log.h"
#include "base/memory.h"
#include "bus/pipeline_get.h"
#include "bus/provision/pool_entry.h"
#include "bus/reader.h"
#include "dispatch/dispatch.h"

#define LOOK_MS 100
#define LOOK_AGAIN_MS 1000 /* for a server that takes its time */
#define GET_WAIT_MS 3000

static void look_soon(struct dispatch *d);

struct pool *pool_table_find(const struct dispatch *d, const char *name)
{
    struct pool *p;
    LL_FOREACH(d->table.pools, p) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

/* ---- coming and going */

static struct pool *take_back(struct dispatch *d, const char *name)
{
    struct pool *p;
    LL_FOREACH(d->table.removed, p) {
        if (strcmp(p->name, name) == 0)
            break;
    }
    if (p == NULL)
        return NULL;
    LL_DELETE(d->table.removed, p);
    pool_reopen(p);
    return p;
}

static struct pool *add(struct dispatch *d, const char *name)
{
    struct pool *p = take_back(d, name);
    if (p == NULL)
        p = pool_new(d, name);
    if (p == NULL)
        memory_fatal("a pool"); /* its tasks would wait for ever */
    LL_PREPEND(d->table.pools, p);
    if (provisioner_add_pool(d->provisioner, name) != AX_OK)
        memory_fatal("a pool");
    assignment_kick(d);
    return p;
}

static void forget(struct dispatch *d, struct pool *p)
{
    log_info("pool removed", "pool=%s", p->name);
    provisioner_remove_pool(d->provisioner, p->name);
    pool_close(p);
    LL_DELETE(d->table.pools, p);
    LL_PREPEND(d->table.removed, p);
}

static void on_put_back(void *arg, const char *name, ax_err err, const char *why)
{
    struct dispatch *d = arg;
    char text[256];
    if (err == AX_OK)
        log_info("pool put back: its entry was removed, and it has tasks", "pool=%s", name);
    else if (err != AX_E_EXISTS)
        log_warn("pool not put back", "pool=%s error=%s", name, log_quote(why, text, sizeof(text)));
    look_soon(d);
}

/* With its settings as they are known here. False: not begun. */
static bool put_back(struct dispatch *d, const struct pool *p)
{
    char *json = settings_format(&p->settings);
    bool begun = json != NULL &&
                 pool_entry_add(d->pipeline, p->name, json, on_put_back, d) == AX_OK;
    free(json);
    return begun;
}

static void remove_entry(struct dispatch *d, struct pool *p, bool at_once)
{
    if (at_once || p->entry.unread || !pool_has_tasks(p) || !put_back(d, p))
        forget(d, p);
}

/* ---- settings */

/* pool NULL: there is none yet. */
static void refuse(struct dispatch *d, struct pool *pool, const char *name, const struct problem *p)
{
    static struct log_gate rests;
    char text[400];
    log_quote(p->text, text, sizeof(text));
    if (pool != NULL && !pool->entry.unread) /* an operator's mistake: each is said */
        log_error("pool settings refused, the old ones stay", "pool=%s error=%s", name, text);
    else {
        log_limited(&rests, loop_now_ns(d->loop), LOG_ERROR,
                    "pool settings cannot be read, it rests until they can", "pool=%s error=%s",
                    name, text);
    }
    if (pool == NULL)
        pool_rest_unread(add(d, name));
}

static void take(struct dispatch *d, const char *name, natsMsg *msg)
{
    struct settings s;
    struct problem p = {0};
    struct pool *pool = pool_table_find(d, name);
    if (pool_entry_is_removal(msg)) {
        if (pool != NULL)
            remove_entry(d, pool, pool_entry_is_purge(msg));
        return;
    }
    ax_err err = settings_parse(&s, natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), &p);
    if (err == AX_E_NOMEM) {
        log_error("out of memory for pool settings, reading them again", "pool=%s", name);
        look_soon(d);
        return;
    }
    if (err != AX_OK)
        refuse(d, pool, name, &p);
    else
        pool_set_settings(pool != NULL ? pool : add(d, name), &s);
    pool = pool_table_find(d, name);
    pool->entry.round = d->table.round;
}

/* NULL: the subject is that of no pool. */
static const char *name_of(const char *subject)
{
    const char *name = subject + strlen(POOLS_PREFIX);
    bool is = strncmp(subject, POOLS_PREFIX, strlen(POOLS_PREFIX)) == 0 && name_is_valid(name);
    return is ? name : NULL;
}

/* ---- reading the bucket */

static void on_stored(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    struct dispatch *d = arg;
    const char *name = name_of(subject);
    (void)seq;
    clock_learn(&d->clock, time_ns);
    if (name != NULL)
        take(d, name, msg);
}

static void on_end(void *arg, ax_err err, uint64_t last_seq)
{
    struct dispatch *d = arg;
    struct pool *p, *next;
    (void)last_seq;
    d->table.reading = false;
    if (err == AX_OK) {
        d->table.read = true;
        LL_FOREACH_SAFE(d->table.pools, p, next) {
            /* Gone without a marker: the bucket was lost. */
            if (p->entry.round != d->table.round && (p->entry.unread || !put_back(d, p)))
                forget(d, p);
        }
        dispatch_kick(d);
    }
    if (err != AX_OK || d->table.again)
        look_soon(d);
}

void pool_table_read(struct dispatch *d)
{
    const struct reader_events events = {on_stored, on_end, d};
    d->table.again = d->table.reading;
    if (d->table.reading)
        return;
    d->table.round++;
    d->table.reading = reader_start(NULL, d->pipeline, d->loop, STREAM_POOLS, POOLS_PREFIX ">", 1,
                                    &events) == AX_OK;
    if (!d->table.reading)
        look_soon(d);
}

static void on_look(void *arg)
{
    struct dispatch *d = arg;
    pool_table_read(d);
    if (--d->table.looks > 0)
        loop_timer_start(d->loop, &d->table.look_timer, LOOK_AGAIN_MS, on_look, d);
}

/* What was just observed may be on its way into the bucket, or refused. */
static void look_soon(struct dispatch *d)
{
    bool waits = d->table.looks == 2 && loop_timer_is_running(&d->table.look_timer);
    d->table.looks = 2;
    if (!waits)
        loop_timer_start(d->loop, &d->table.look_timer, LOOK_MS, on_look, d);
}

static void on_got(void *arg, ax_err err, const struct stored_msg *found)
{
    const char *name = err == AX_OK ? name_of(found->subject) : NULL;
    if (name != NULL && pool_table_find(arg, name) == NULL)
        take(arg, name, found->msg);
}

void pool_table_observe(struct dispatch *d, natsMsg *msg)
{
    const char *subject = natsMsg_GetSubject(msg), *name = name_of(subject);
    if (name == NULL)
        return;
    if (!pool_entry_is_conditional(msg)) {
        take(d, name, msg);
        return;
    }
    /* It is received whether the bucket takes it or not (adding a pool that has an entry). A pool
     * that is new is not kept waiting. */
    if (pool_table_find(d, name) == NULL)
        pipeline_get(d->pipeline, STREAM_POOLS, subject, 0, GET_WAIT_MS, on_got, d);
    look_soon(d);
}

void pool_table_start(struct dispatch *d)
{
    d->table.m_unprovisioned = metrics_get(METRIC_GAUGE, "ax_pools_unprovisioned",
                                           "Pools whose consumers cannot be made.", "");
    d->table.m_unreadable = metrics_get(METRIC_GAUGE, "ax_pools_unreadable",
                                        "Pools that rest because their settings cannot be read.",
                                        "");
    pool_table_read(d);
    look_soon(d);
}

void pool_table_count(struct dispatch *d)
{
    const struct pool *p;
    int unprovisioned = 0, unreadable = 0;
    LL_FOREACH(d->table.pools, p) {
        unprovisioned += p->consumer.why_failed[0] != '\0';
        unreadable += p->entry.unread;
    }
    metric_set(d->table.m_unprovisioned, unprovisioned);
    metric_set(d->table.m_unreadable, unreadable);
}
