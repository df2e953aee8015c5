#include "bus/provision/provisioner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/log.h"
#include "bus/provision/asker.h"
#include "bus/provision/consumers.h"
#include "bus/provision/streams.h"
#include "bus/stream_info.h"

#define ROUND_MS 5000
#define ROUND_AFTER_TROUBLE_MS 1000
#define CALM_MS 100 /* between two rounds: advisories come in flocks, our own doing among them */

struct pool_name {
    char name[NAME_MAX_CHARS + 1];
    struct pool_name *next;
};

struct provisioner {
    struct loop *loop;
    struct provisioner_config config;
    struct asker asker;
    struct streams streams;
    struct streams_short replicas;
    struct priorities_reading reading;
    struct pool_name *pools;
    struct loop_timer timer; /* of the next round */
    int64_t ended_ns;        /* monotonic: end of the last round; 0: none yet */
    bool running, kicked, stopped;
    bool created;    /* a stream, in this round */
    bool has_warned; /* of replicas */
    int pending;     /* answers or pools that the current step waits for */
    int64_t work_created_ns;
    struct problem problem;                            /* the first of this round */
    char trouble[sizeof(((struct problem *)0)->text)]; /* of the last round; "": none */
};

static void begin(void *arg);

/* ---- rounds ---- */

static void schedule(struct provisioner *p, int64_t ms)
{
    if (!p->stopped)
        loop_timer_start(p->loop, &p->timer, ms, begin, p);
}

static void report(struct provisioner *p)
{
    const struct problem *problem = &p->problem;
    char text[400];
    if (problem->err == AX_OK) {
        p->trouble[0] = '\0';
        return;
    }
    const char *words = problem->text[0] != '\0' ? problem->text : ax_err_text(problem->err);
    if (strcmp(p->trouble, words) != 0)
        log_warn(p->config.trouble, "error=%s", log_quote(words, text, sizeof(text)));
    snprintf(p->trouble, sizeof(p->trouble), "%s", words);
}

static void end(struct provisioner *p)
{
    report(p);
    p->running = false;
    p->ended_ns = loop_now_ns(p->loop);
    schedule(p, p->kicked ? CALM_MS : p->trouble[0] != '\0' ? ROUND_AFTER_TROUBLE_MS : ROUND_MS);
    if (p->created && p->config.streams_created != NULL)
        p->config.streams_created(p->config.arg);
}

static void fail(struct provisioner *p, const struct problem *problem)
{
    if (problem->err != AX_OK && p->problem.err == AX_OK)
        p->problem = *problem;
}

/* ---- the pools' consumers ---- */

static void on_changed(void *arg, const char *line)
{
    char text[300];
    (void)arg;
    log_info("consumer set up", "what=%s", log_quote(line, text, sizeof(text)));
}

static void on_pool(void *arg, const char *pool, const struct problem *problem)
{
    struct provisioner *p = arg;
    char text[400];
    if (problem->err != AX_OK) {
        log_warn("pool not provisioned", "pool=%s error=%s", pool,
                 log_quote(problem->text, text, sizeof(text)));
    } else if (p->config.pool != NULL) {
        p->config.pool(p->config.arg, pool, &p->reading.found);
    }
    if (--p->pending == 0)
        end(p);
}

static void ensure_pools(struct provisioner *p)
{
    const struct consumers_events events = {.changed = on_changed, .done = on_pool, .arg = p};
    struct pool_name *pool;
    p->pending = 1;
    LL_FOREACH(p->pools, pool) {
        p->pending++;
        consumers_ensure_pool(&p->asker, &p->reading.found, pool->name, &events);
    }
    if (--p->pending == 0)
        end(p);
}

/* ---- streams with fewer replicas ---- */

static void on_short(void *arg, const char *stream, int replicas)
{
    const struct provisioner *p = arg;
    log_warn("stream has fewer replicas than asked for, left as it is",
             "stream=%s replicas=%d asked=%d", stream, replicas, p->config.replicas);
}

static void on_shorts(void *arg, const struct problem *problem)
{
    struct provisioner *p = arg;
    p->has_warned = problem->err == AX_OK;
    ensure_pools(p);
}

static void find_short(struct provisioner *p)
{
    p->replicas = (struct streams_short){.asker = &p->asker,
                                         .replicas = p->config.replicas,
                                         .found = on_short,
                                         .done = on_shorts,
                                         .arg = p};
    streams_find_short(&p->replicas);
}

/* ---- what is known of the streams ---- */

static void tell(struct provisioner *p)
{
    const struct provisioner_config *c = &p->config;
    if (c->priorities != NULL)
        c->priorities(c->arg, &p->reading.found);
    if (c->work_created != NULL)
        c->work_created(c->arg, p->work_created_ns);
    if (c->warns_of_replicas && !p->has_warned)
        find_short(p);
    else
        ensure_pools(p);
}

static void on_feeders(void *arg, const char *pool, const struct problem *problem)
{
    struct provisioner *p = arg;
    (void)pool;
    fail(p, problem);
    if (p->problem.err != AX_OK)
        end(p);
    else
        tell(p);
}

static void on_known(struct provisioner *p)
{
    const struct consumers_events events = {.done = on_feeders, .arg = p};
    if (--p->pending > 0)
        return;
    if (p->problem.err != AX_OK)
        end(p);
    else if (p->config.feeders)
        consumers_ensure_feeders(&p->asker, &p->reading.found, &events);
    else
        tell(p);
}

static void on_priorities(void *arg, const struct problem *problem)
{
    struct provisioner *p = arg;
    fail(p, problem);
    on_known(p);
}

static void on_work_info(void *arg, const struct api_answer *a)
{
    struct provisioner *p = arg;
    struct problem problem = {0};
    p->work_created_ns = api_time_ns(a->root, "created");
    if (p->work_created_ns == 0)
        problem_set(&problem, AX_E_NOT_FOUND, "no AX_WORK");
    fail(p, &problem);
    on_known(p);
}

/* ---- the streams ---- */

static void on_created(void *arg, const char *stream)
{
    struct provisioner *p = arg;
    p->created = true;
    log_info("stream created", "stream=%s", stream);
}

static void on_streams(void *arg, const struct problem *problem)
{
    struct provisioner *p = arg;
    fail(p, problem);
    if (p->problem.err != AX_OK) {
        end(p);
        return;
    }
    bool asks_work = p->config.work_created != NULL;
    p->pending = asks_work ? 2 : 1;
    priorities_read(&p->reading, &p->asker, on_priorities, p);
    if (asks_work)
        asker_ask(&p->asker, "STREAM.INFO." STREAM_WORK, NULL, on_work_info, p);
}

static void begin(void *arg)
{
    struct provisioner *p = arg;
    p->running = true;
    p->kicked = p->created = false;
    p->problem = (struct problem){0};
    streams_ensure(&p->streams);
}

/* ---- from outside ---- */

void provisioner_kick(struct provisioner *p)
{
    if (p == NULL || p->kicked)
        return;
    p->kicked = true;
    if (p->running)
        return;
    int64_t calm_ns = p->ended_ns + CALM_MS * 1000000LL - loop_now_ns(p->loop);
    schedule(p, calm_ns > 0 ? (calm_ns + 999999) / 1000000 : 0);
}

ax_err provisioner_add_pool(struct provisioner *p, const char *name)
{
    struct pool_name *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return AX_E_NOMEM;
    snprintf(pool->name, sizeof(pool->name), "%s", name);
    LL_PREPEND(p->pools, pool);
    provisioner_kick(p);
    return AX_OK;
}

static void on_advisory(void *arg, natsMsg *msg)
{
    provisioner_kick(arg);
    natsMsg_Destroy(msg);
}

ax_err provisioner_start(struct provisioner **out, struct wire *w, struct pipeline *pipeline,
                         const struct provisioner_config *config)
{
    static const char *const advisories[] = {"$JS.EVENT.ADVISORY.STREAM.*.*",
                                             "$JS.EVENT.ADVISORY.CONSUMER.DELETED.>"};
    struct provisioner *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return AX_E_NOMEM;
    p->loop = wire_loop(w);
    p->config = *config;
    asker_init(&p->asker, pipeline, p->loop);
    p->streams = (struct streams){.asker = &p->asker,
                                  .replicas = config->replicas,
                                  .created = on_created,
                                  .done = on_streams,
                                  .arg = p};
    *out = p;
    for (size_t i = 0; i < sizeof(advisories) / sizeof(advisories[0]); i++) {
        ax_err err = wire_subscribe(w, NULL, advisories[i], NULL, on_advisory, p);
        if (err != AX_OK)
            return err;
    }
    schedule(p, 0);
    return AX_OK;
}

void provisioner_stop(struct provisioner *p)
{
    p->stopped = true;
    loop_timer_stop(p->loop, &p->timer);
    asker_stop(&p->asker);
}
