#include "cli/doctor/view.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/view_daemons.h"
#include "cli/doctor/view_streams.h"

#define STATS_WAIT_MS 2500
/* Nobody knows how many ingresses run: those that answer within this time are counted. */
#define STATS_MIN_MS 300

static void note_trouble(struct view *v, const struct problem *p)
{
    if (v->trouble[0] == '\0') {
        snprintf(v->trouble, sizeof(v->trouble), "%.255s",
                 p->text[0] != '\0' ? p->text : ax_err_text(p->err));
    }
}

static bool is_paused(const char *settings_json)
{
    json_t *settings = json_loads(settings_json, JSON_DISABLE_EOF_CHECK, NULL);
    bool paused = json_is_true(json_object_get(settings, "paused"));
    json_decref(settings);
    return paused;
}

static ax_err read_pools(natsConnection *nc, struct view *v, struct problem *p)
{
    struct pool_list list = {0};
    ax_err err = pool_list_read(nc, &list, p);
    v->pools = calloc((size_t)list.count + 1, sizeof(*v->pools));
    if (err == AX_OK && v->pools == NULL)
        err = problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    for (int i = 0; err == AX_OK && i < list.count; i++) {
        struct view_pool *pool = &v->pools[v->pool_count++];
        snprintf(pool->name, sizeof(pool->name), "%s", list.list[i].name);
        pool->paused = is_paused(list.list[i].json);
        pool->is_unread = advice_settings(pool->name, list.list[i].json, &pool->unread);
    }
    pool_list_free(&list);
    /* After one without an answer no other is asked: each would wait for its time-out. */
    for (int i = 0; err == AX_OK && i < v->pool_count; i++) {
        err = pool_count(nc, &v->priorities, v->pools[i].name, &v->pools[i].counts, p);
        v->pools[i].is_counted = err == AX_OK;
    }
    return err;
}

static ax_err allocate(struct view *v, struct problem *p)
{
    *v = (struct view){.memory_max = -1, .storage_max = -1};
    v->streams = calloc(VIEW_STREAMS_MAX, sizeof(*v->streams));
    v->daemons = calloc(VIEW_DAEMONS_MAX, sizeof(*v->daemons));
    v->peers = calloc(VIEW_PEERS_MAX, sizeof(*v->peers));
    if (v->streams == NULL || v->daemons == NULL || v->peers == NULL)
        return problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    return AX_OK;
}

/* err: of the question for priorities and stats, which come first. */
static void read_server(natsConnection *nc, struct view *v, ax_err err, struct problem *p)
{
    static ax_err (*const steps[])(natsConnection *, struct view *, struct problem *) = {
        view_streams_read_account, view_streams_read, view_daemons_read_announced, read_pools};
    /* After a time-out the next question would only wait for another. */
    for (size_t i = 0; err != AX_E_TIMEOUT && i < sizeof(steps) / sizeof(steps[0]); i++) {
        err = steps[i](nc, v, p);
        if (err != AX_OK)
            note_trouble(v, p);
    }
}

static bool never(void *arg, const json_t *answers)
{
    (void)arg, (void)answers;
    return false;
}

static void read_stats(struct view *v, struct stats_query *query)
{
    stats_query_gather(query, STATS_MIN_MS, never, NULL);
    stats_query_gather(query, STATS_WAIT_MS - STATS_MIN_MS, view_daemons_all_answered, v);
    view_daemons_read_stats(v, query->answers);
    for (int i = 0; i < v->pool_count; i++)
        stats_query_pool(query->answers, v->pools[i].name, &v->pools[i].stats);
}

ax_err view_read(natsConnection *nc, struct view *v, struct problem *p)
{
    ax_err err = allocate(v, p);
    if (err != AX_OK)
        return err;
    struct stats_query query = {0};
    err = stats_query_ask(&query, nc, p); /* the answers arrive while the server is read */
    if (err == AX_OK)
        err = provision_priorities(nc, &v->priorities, p);
    if (err != AX_OK)
        note_trouble(v, p);
    read_server(nc, v, err, p);
    if (query.sub != NULL)
        read_stats(v, &query);
    stats_query_free(&query);
    return AX_OK;
}

void view_free(struct view *v)
{
    free(v->pools);
    free(v->streams);
    free(v->daemons);
    free(v->peers);
    *v = (struct view){0};
}

int view_answered(const struct view *v, const char *program)
{
    int n = 0;
    for (int i = 0; i < v->daemon_count; i++)
        n += v->daemons[i].answered && strcmp(v->daemons[i].program, program) == 0;
    return n;
}
