#include "bus/provision/consumers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/consumer_info.h"
#include "bus/provision/consumer_kept.h"
#include "bus/provision/consumer_plan.h"

#define LOOKS_MAX 3 /* at one consumer, while others make and delete it at this moment */

/* What was asked for: some consumers, and a word when all of them exist. */
struct job {
    struct asker *asker;
    const struct priorities *ps;
    const char *pool; /* NULL: feeders */
    struct consumers_events events;
    struct problem problem; /* the first there was */
    int pending;            /* consumers; 1 more while they are being asked for */
    json_t *kept;           /* settings of the one on AX_WORK; NULL: AX's own, or not known yet */
    bool knows_kept;
};

struct one {
    struct job *job;
    struct consumer_plan plan;
    char what[API_SUBJECT_MAX]; /* the question under way */
    char line[384];             /* what a change does, for people */
    int looks;
    int queue; /* priority whose consumer is asked what it keeps */
    /* It exists, with this configuration. May be NULL. */
    void (*found)(struct job *j, const struct consumer_plan *plan, const json_t *config);
};

static void look(struct one *c);
static void create(struct one *c);
static void read_kept(struct one *c);

static void settle(struct job *j)
{
    if (--j->pending > 0)
        return;
    j->events.done(j->events.arg, j->pool, &j->problem);
    json_decref(j->kept);
    free(j);
}

/* c: freed, may be NULL. p: NULL when all is well. */
static void end(struct job *j, struct one *c, const struct problem *p)
{
    if (p != NULL && j->problem.err == AX_OK)
        j->problem = *p;
    free(c);
    settle(j);
}

static void exists(struct one *c, const json_t *config)
{
    if (c->found != NULL)
        c->found(c->job, &c->plan, config);
    end(c->job, c, NULL);
}

/* What was kept may not be taken any more, for instance more replicas than the stream has now: AX's
 * own settings are then tried. */
static bool is_refused_for_kept(const struct one *c, const struct api_answer *a)
{
    return a->err == AX_E_SERVER && a->err_code != JSERR_JS_UNAVAILABLE &&
           a->err_code != JSERR_INSUFFICIENT_RESOURCES && a->err_code != JSERR_TOO_MANY_REQUESTS &&
           a->err_code != JSERR_STREAM_NOT_FOUND && c->plan.is_made_again && c->plan.kept != NULL;
}

static void on_written(void *arg, const struct api_answer *a)
{
    struct one *c = arg;
    const struct consumers_events *e = &c->job->events;
    struct problem p;
    if (a->err_code == JSERR_CONSUMER_EXISTS && c->looks < LOOKS_MAX) {
        look(c); /* made by somebody else just now */
    } else if (is_refused_for_kept(c, a)) {
        c->plan.kept = NULL;
        create(c);
    } else if (a->err != AX_OK) {
        api_problem(c->what, a, &p);
        end(c->job, c, &p);
    } else {
        if (e->changed != NULL && c->job->pool != NULL)
            e->changed(e->arg, c->line);
        exists(c, json_object_get(a->root, "config"));
    }
}

/* action: create or update. config: taken; NULL: out of memory. */
static void write(struct one *c, const char *action, json_t *config)
{
    const char *filter = json_string_value(json_object_get(config, "filter_subject"));
    /* An operator may have given it several filters; then the API wants none in the subject. */
    bool has_filter = filter != NULL && filter[0] != '\0';
    snprintf(c->what, sizeof(c->what), "CONSUMER.CREATE.%s.%s%s%s", c->plan.stream, c->plan.name,
             has_filter ? "." : "", has_filter ? filter : "");
    json_t *payload = config == NULL ? NULL
                                     : json_pack("{s:s,s:o,s:s}", "stream_name", c->plan.stream,
                                                 "config", config, "action", action);
    if (payload != NULL)
        asker_ask(c->job->asker, c->what, payload, on_written, c);
    else
        on_written(c, &(struct api_answer){.err = AX_E_NOMEM});
}

/* The one on AX_WORK is asked for first, with what follows from it. */
static bool is_work(const struct one *c)
{
    return c->found != NULL;
}

static void on_exists(struct one *c, const struct api_answer *a)
{
    struct consumer_info info;
    struct problem p;
    if (consumer_info_read(a->root, &info) != AX_OK) {
        problem_set(&p, AX_E_PROTOCOL, "%s: an answer without config", c->what);
        end(c->job, c, &p);
        return;
    }
    if (is_work(c) && consumer_plan_has_backoff(&info) && !c->job->knows_kept) {
        read_kept(c); /* the ack wait that it had before */
        return;
    }
    json_t *config = consumer_plan_repair(&c->plan, &info, c->line, sizeof(c->line));
    if (config != NULL)
        write(c, "update", config);
    else
        exists(c, info.config);
}

static void create(struct one *c)
{
    char kept[224];
    consumer_kept_text(c->plan.kept, kept, sizeof(kept));
    snprintf(c->line, sizeof(c->line), "consumer %s on %s %s%s", c->plan.name, c->plan.stream,
             c->plan.is_made_again ? "was missing, made again with " : "created",
             !c->plan.is_made_again ? ""
             : kept[0] != '\0'      ? kept
                                    : "default settings");
    write(c, "create", consumer_plan_config(&c->plan));
}

static void on_info(void *arg, const struct api_answer *a)
{
    struct one *c = arg;
    struct problem p;
    if (a->err == AX_OK) {
        on_exists(c, a);
    } else if (a->err_code == JSERR_CONSUMER_NOT_FOUND) {
        if (is_work(c) && !c->job->knows_kept)
            read_kept(c);
        else
            create(c);
    } else {
        if (a->err_code == JSERR_STREAM_NOT_FOUND) {
            problem_set(&p, AX_E_SERVER, "stream %s is missing: `ax init` creates it",
                        c->plan.stream);
        } else {
            api_problem(c->what, a, &p);
        }
        end(c->job, c, &p);
    }
}

static void look(struct one *c)
{
    c->looks++;
    snprintf(c->what, sizeof(c->what), "CONSUMER.INFO.%s.%s", c->plan.stream, c->plan.name);
    asker_ask(c->job->asker, c->what, NULL, on_info, c);
}

static void ensure(struct job *j, const struct consumer_plan *plan,
                   void (*found)(struct job *j, const struct consumer_plan *plan,
                                 const json_t *config))
{
    struct one *c = calloc(1, sizeof(*c));
    j->pending++;
    if (c == NULL) {
        struct problem p;
        problem_set(&p, AX_E_NOMEM, "consumer %s: %s", plan->name, ax_err_text(AX_E_NOMEM));
        end(j, NULL, &p);
        return;
    }
    c->job = j;
    c->plan = *plan;
    c->found = found;
    look(c);
}

static struct job *new_job(struct asker *a, const struct priorities *ps, const char *pool,
                           const struct consumers_events *events)
{
    struct job *j = calloc(1, sizeof(*j));
    if (j == NULL) {
        struct problem p;
        problem_set(&p, AX_E_NOMEM, "consumers: %s", ax_err_text(AX_E_NOMEM));
        events->done(events->arg, pool, &p);
        return NULL;
    }
    *j = (struct job){.asker = a, .ps = ps, .pool = pool, .events = *events, .pending = 1};
    return j;
}

/* ---- what the queues' consumers keep of the one on AX_WORK ---- */

static void on_queue_info(void *arg, const struct api_answer *a)
{
    struct one *c = arg;
    struct job *j = c->job;
    struct problem p;
    if (a->err == AX_OK) {
        c->plan.is_made_again = true; /* the one on AX_WORK is always made first */
        j->kept = consumer_kept_read(json_object_get(a->root, "config"));
    } else if (a->err_code != JSERR_CONSUMER_NOT_FOUND && a->err_code != JSERR_STREAM_NOT_FOUND &&
               c->queue == 0) {
        /* Nobody has told whether the pool is new. Where one has none, the pool is taken for new.
         */
        api_problem(c->what, a, &p);
        end(j, c, &p);
        return;
    }
    c->queue++;
    read_kept(c);
}

/* Asks one after the other until one keeps something; then looks again. */
static void read_kept(struct one *c)
{
    struct job *j = c->job;
    if (j->kept == NULL && c->queue < j->ps->count) {
        snprintf(c->what, sizeof(c->what), "CONSUMER.INFO.%s.%s", j->ps->list[c->queue].stream,
                 j->pool);
        asker_ask(j->asker, c->what, NULL, on_queue_info, c);
        return;
    }
    j->knows_kept = true;
    c->plan.kept = j->kept;
    look(c);
}

/* An object, maybe empty; NULL: out of memory. */
static json_t *kept_of(const char *pool, const json_t *config)
{
    struct consumer_plan own;
    consumer_plan_work(&own, pool);
    json_t *defaults = consumer_plan_config(&own);
    json_t *kept = defaults != NULL ? consumer_kept_of(config, defaults) : NULL;
    json_decref(defaults);
    return kept;
}

static void ensure_queues(struct job *j, const struct consumer_plan *work, const json_t *config)
{
    struct consumer_plan plan;
    int64_t ack_wait_ns = consumer_info_ack_wait_ns(config);
    json_decref(j->kept);
    j->kept = kept_of(j->pool, config);
    if (j->kept == NULL) {
        problem_set(&j->problem, AX_E_NOMEM, "consumers: %s", ax_err_text(AX_E_NOMEM));
        return;
    }
    for (int i = 0; i < j->ps->count; i++) {
        consumer_plan_queue(&plan, &j->ps->list[i], j->pool,
                            ack_wait_ns > 0 ? ack_wait_ns : work->ack_wait_ns, j->kept);
        ensure(j, &plan, NULL);
    }
}

void consumers_ensure_pool(struct asker *a, const struct priorities *ps, const char *pool,
                           const struct consumers_events *events)
{
    struct consumer_plan plan;
    struct job *j = new_job(a, ps, pool, events);
    if (j == NULL)
        return;
    consumer_plan_work(&plan, pool);
    ensure(j, &plan, ensure_queues);
    settle(j);
}

void consumers_ensure_feeders(struct asker *a, const struct priorities *ps,
                              const struct consumers_events *events)
{
    static const char *const streams[] = {STREAM_LATER, STREAM_SPILL};
    struct consumer_plan plan;
    struct job *j = new_job(a, ps, NULL, events);
    if (j == NULL)
        return;
    for (int i = 0; i < ps->count; i++) {
        for (size_t k = 0; k < sizeof(streams) / sizeof(streams[0]); k++) {
            consumer_plan_feeder(&plan, streams[k], ps->list[i].name);
            ensure(j, &plan, NULL);
        }
    }
    settle(j);
}
