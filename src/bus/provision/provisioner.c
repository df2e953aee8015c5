#include "bus/provision/provisioner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bus/provision/asker.h"
#include "bus/provision/consumers.h"
#include "bus/provision/pool_watch.h"
#include "bus/provision/streams.h"
#include "bus/stream_info.h"

#define ROUND_MS 5000
#define ROUND_AFTER_TROUBLE_MS 1000
#define CALM_MS 100 /* between two rounds: advisories come in flocks, our own doing among them */

#define DELETED_PREFIX "$JS.EVENT.ADVISORY.CONSUMER.DELETED."
#define STREAM_PREFIX "$JS.EVENT.ADVISORY.STREAM."

struct provisioner {
    struct loop *loop;
    struct provisioner_config config;
    struct asker asker;
    struct streams streams;
    struct streams_short replicas;
    struct priorities_reading reading;
    struct pool_watch watch;
    struct loop_timer timer; /* of the next round */
    int64_t ended_ns;        /* monotonic: end of the last round; 0: none yet */
    bool running, kicked, stopped;
    bool created;    /* a stream, in this round */
    bool has_warned; /* of replicas */
    int pending;     /* answers that the current step waits for */
    int64_t work_created_ns, work_consumers;
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
    end(p);
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
    pool_watch_priorities(&p->watch, &p->reading.found, p->work_consumers);
    if (c->warns_of_replicas && !p->has_warned)
        find_short(p);
    else
        end(p);
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
    p->work_consumers = api_integer(json_object_get(a->root, "state"), "consumer_count", -1);
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

void provisioner_look_again(struct provisioner *p)
{
    if (p == NULL)
        return;
    pool_watch_mark_all(&p->watch);
    provisioner_kick(p);
}

ax_err provisioner_add_pool(struct provisioner *p, const char *name)
{
    return pool_watch_add(&p->watch, name);
}

void provisioner_remove_pool(struct provisioner *p, const char *name)
{
    pool_watch_remove(&p->watch, name);
}

void provisioner_kick_pool(struct provisioner *p, const char *name)
{
    pool_watch_mark(&p->watch, name);
    provisioner_kick(p);
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(text, word, n) == 0;
}

/* $JS.EVENT.ADVISORY.STREAM.<what>.<stream>. A stream that was made, changed or deleted may have
 * lost its consumers; one that has a leader again has kept them. */
static void on_stream_advisory(void *arg, natsMsg *msg)
{
    struct provisioner *p = arg;
    const char *what = natsMsg_GetSubject(msg) + strlen(STREAM_PREFIX);
    const char *dot = strchr(what, '.');
    size_t n = dot != NULL ? (size_t)(dot - what) : 0;
    if (is_word(what, n, "CREATED") || is_word(what, n, "DELETED") || is_word(what, n, "UPDATED") ||
        is_word(what, n, "RESTORE_COMPLETE"))
        pool_watch_mark_stream(&p->watch, dot + 1);
    else
        pool_watch_mark_failed(&p->watch);
    provisioner_kick(p);
    natsMsg_Destroy(msg);
}

/* $JS.EVENT.ADVISORY.CONSUMER.DELETED.<stream>.<consumer>: one of a pool, or of the feeders. */
static void on_consumer_deleted(void *arg, natsMsg *msg)
{
    struct provisioner *p = arg;
    const char *dot = strrchr(natsMsg_GetSubject(msg), '.');
    pool_watch_mark(&p->watch, dot + 1);
    if (p->config.feeders)
        provisioner_kick(p);
    natsMsg_Destroy(msg);
}

static ax_err listen(struct provisioner *p, struct wire *w)
{
    ax_err err = wire_subscribe(w, NULL, STREAM_PREFIX "*.*", NULL, on_stream_advisory, p);
    if (err != AX_OK)
        return err;
    return wire_subscribe(w, NULL, DELETED_PREFIX ">", NULL, on_consumer_deleted, p);
}

ax_err provisioner_start(struct provisioner **out, struct wire *w, struct pipeline *pipeline,
                         const struct provisioner_config *config)
{
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
    p->work_consumers = -1;
    pool_watch_init(&p->watch, &p->asker, p->loop,
                    &(struct pool_watch_events){config->pool, config->pool_failed, config->arg});
    *out = p;
    ax_err err = listen(p, w);
    if (err == AX_OK)
        schedule(p, 0);
    return err;
}

void provisioner_stop(struct provisioner *p)
{
    p->stopped = true;
    loop_timer_stop(p->loop, &p->timer);
    pool_watch_stop(&p->watch);
    asker_stop(&p->asker);
}
