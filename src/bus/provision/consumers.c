#include "bus/provision/consumers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/consumer_info.h"
#include "bus/provision/consumer_plan.h"

/* What was asked for: some consumers, and a word when all of them exist. */
struct job {
    struct asker *asker;
    const struct priorities *ps;
    const char *pool; /* NULL: feeders */
    struct consumers_events events;
    struct problem problem; /* the first there was */
    int pending;            /* consumers; 1 more while they are being asked for */
};

struct one {
    struct job *job;
    struct consumer_plan plan;
    char what[API_SUBJECT_MAX];                        /* the question under way */
    char line[256];                                    /* what a change does, for people */
    void (*found)(struct job *j, int64_t ack_wait_ns); /* may be NULL: it exists, with that */
};

static void settle(struct job *j)
{
    if (--j->pending > 0)
        return;
    j->events.done(j->events.arg, j->pool, &j->problem);
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

static void exists(struct one *c, int64_t ack_wait_ns)
{
    if (c->found != NULL)
        c->found(c->job, ack_wait_ns);
    end(c->job, c, NULL);
}

static void on_written(void *arg, const struct api_answer *a)
{
    struct one *c = arg;
    const struct consumers_events *e = &c->job->events;
    struct problem p;
    if (a->err_code == JSERR_CONSUMER_EXISTS) { /* made by somebody else just now */
        exists(c, c->plan.ack_wait_ns);
    } else if (a->err != AX_OK) {
        api_problem(c->what, a, &p);
        end(c->job, c, &p);
    } else {
        const json_t *config = json_object_get(a->root, "config");
        if (e->changed != NULL && c->job->pool != NULL)
            e->changed(e->arg, c->line);
        exists(c, api_integer(config, "ack_wait", c->plan.ack_wait_ns));
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

static void on_exists(struct one *c, const struct api_answer *a)
{
    struct consumer_info info;
    struct problem p;
    if (consumer_info_read(a->root, &info) != AX_OK) {
        problem_set(&p, AX_E_PROTOCOL, "%s: an answer without config", c->what);
        end(c->job, c, &p);
        return;
    }
    json_t *config = consumer_plan_repair(&c->plan, &info, c->line, sizeof(c->line));
    if (config != NULL)
        write(c, "update", config);
    else
        exists(c, info.ack_wait_ns > 0 ? info.ack_wait_ns : c->plan.ack_wait_ns);
}

static void on_info(void *arg, const struct api_answer *a)
{
    struct one *c = arg;
    struct problem p;
    if (a->err == AX_OK) {
        on_exists(c, a);
    } else if (a->err_code == JSERR_CONSUMER_NOT_FOUND) {
        snprintf(c->line, sizeof(c->line), "consumer %s on %s created", c->plan.name,
                 c->plan.stream);
        write(c, "create", consumer_plan_config(&c->plan));
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

static void ensure(struct job *j, const struct consumer_plan *plan,
                   void (*found)(struct job *j, int64_t ack_wait_ns))
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
    snprintf(c->what, sizeof(c->what), "CONSUMER.INFO.%s.%s", plan->stream, plan->name);
    asker_ask(j->asker, c->what, NULL, on_info, c);
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

static void ensure_queues(struct job *j, int64_t work_ack_wait_ns)
{
    struct consumer_plan plan;
    for (int i = 0; i < j->ps->count; i++) {
        consumer_plan_queue(&plan, &j->ps->list[i], j->pool, work_ack_wait_ns);
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
