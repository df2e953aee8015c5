#include "cli/pool/pool_ls.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "bus/provision/provision.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/streams/advice.h"
#include "cli/streams/pool.h"
#include "cli/streams/stats_query.h"
#include "cli/table.h"

#define STATS_WAIT_MS 1000
#define ADVICE_MAX 3
#define CELL_CHARS 32

struct listing {
    struct priorities priorities;
    struct pool_list pools;
    /* of each pool; owned */
    struct pool_counts *counts;
    struct stats_pool *stats;
};

static int advise(const struct pool_entry *entry, const struct stats_pool *s,
                  struct advice list[ADVICE_MAX])
{
    const char *pool = entry->name;
    int n = 0;
    n += advice_settings(pool, entry->json, &list[n]);
    n += advice_ack_wait(pool, s, &list[n]);
    n += advice_late_acks(pool, s, &list[n]);
    return n;
}

/* ---- JSON */

/* null: not known */
static json_t *known(double value)
{
    return value < 0 ? json_null() : json_real(value);
}

static json_t *advice_json(const struct pool_entry *entry, const struct stats_pool *s)
{
    struct advice list[ADVICE_MAX];
    json_t *all = json_array();
    int n = advise(entry, s, list);
    for (int i = 0; i < n; i++) {
        json_array_append_new(all,
                              json_pack("{s:s,s:s}", "text", list[i].text, "turn", list[i].fix));
    }
    return all;
}

/* What its leader told of the pool; null where none did. */
static void add_stats(json_t *o, const struct pool_entry *entry, const struct stats_pool *s)
{
    json_object_set_new(o, "pending", s->answered ? json_integer(s->pending) : json_null());
    json_object_set_new(o, "busy", known(s->busy));
    json_object_set_new(o, "run_p50_ms", known(s->run.p50_ms));
    json_object_set_new(o, "run_p99_ms", known(s->run.p99_ms));
    json_object_set_new(o, "silence_p99_ms", known(s->silence.p99_ms));
    json_object_set_new(o, "advice", advice_json(entry, s));
}

static json_t *counts_json(const struct pool_counts *n, const struct priorities *ps)
{
    json_t *queues = json_object();
    for (int i = 0; i < ps->count; i++) {
        json_object_set_new(queues, ps->list[i].name,
                            json_pack("{s:I,s:I}", "unfinished", (json_int_t)n->queued[i],
                                      "waiting", (json_int_t)n->waiting[i]));
    }
    return json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:s?}", "queues", queues, "running",
                     (json_int_t)n->running, "handed", (json_int_t)n->handed, "pulls",
                     (json_int_t)n->pulls, "ack_wait_ms", (json_int_t)n->ack_wait_ms,
                     "max_ack_pending", (json_int_t)n->max_ack_pending, "leader",
                     n->leader[0] ? n->leader : NULL);
}

static json_t *pool_json(const struct listing *l, int i)
{
    const struct pool_entry *pool = &l->pools.list[i];
    json_t *settings = json_loads(pool->json, JSON_DISABLE_EOF_CHECK, NULL);
    json_t *o = counts_json(&l->counts[i], &l->priorities);
    json_object_set_new(o, "pool", json_string(pool->name));
    json_object_set_new(o, "settings", settings != NULL ? settings : json_null());
    add_stats(o, pool, &l->stats[i]);
    return o;
}

static void print_json(const struct listing *l)
{
    json_t *all = json_array();
    for (int i = 0; i < l->pools.count; i++)
        json_array_append_new(all, pool_json(l, i));
    output_json(all);
}

/* ---- text */

static void number(char cell[CELL_CHARS], int64_t n)
{
    if (n < 0)
        snprintf(cell, CELL_CHARS, "-");
    else
        snprintf(cell, CELL_CHARS, "%" PRId64, n);
}

static void percent(char cell[CELL_CHARS], double part)
{
    if (part < 0)
        snprintf(cell, CELL_CHARS, "-");
    else
        snprintf(cell, CELL_CHARS, "%.0f%%", 100 * part);
}

static void milliseconds(char cell[CELL_CHARS], double ms)
{
    if (ms < 0)
        snprintf(cell, CELL_CHARS, "-");
    else
        output_seconds((int64_t)(ms * 1e6), cell);
}

/* Three tables, since one of all that is known would be wider than a terminal. */
static const char *const measures[] = {"handed", "running", "pulls", "busy", "p50", "p99"};
#define MEASURES (int)(sizeof(measures) / sizeof(measures[0]))
#define LOAD_COLUMNS_MAX (1 + PRIORITIES_MAX + MEASURES)
#define SETUP_COLUMNS 4

static void fill_measures(char cells[][CELL_CHARS], const struct pool_counts *n,
                          const struct stats_pool *s)
{
    number(cells[0], n->handed);
    number(cells[1], n->running);
    number(cells[2], n->pulls);
    percent(cells[3], s->busy);
    milliseconds(cells[4], s->run.p50_ms);
    milliseconds(cells[5], s->run.p99_ms);
}

static void add_heading(struct table *t, const struct listing *l)
{
    const char *cells[LOAD_COLUMNS_MAX] = {"pool"};
    int k = 1;
    for (int i = 0; i < l->priorities.count; i++)
        cells[k++] = l->priorities.list[i].name;
    for (int i = 0; i < MEASURES; i++)
        cells[k++] = measures[i];
    table_row(t, cells);
}

static void add_load(struct table *t, const struct listing *l, int pool)
{
    const struct pool_counts *n = &l->counts[pool];
    const char *cells[LOAD_COLUMNS_MAX] = {l->pools.list[pool].name};
    char text[PRIORITIES_MAX + MEASURES][CELL_CHARS];
    int numbers = l->priorities.count + MEASURES;
    for (int i = 0; i < l->priorities.count; i++)
        number(text[i], n->queued[i]);
    fill_measures(text + l->priorities.count, n, &l->stats[pool]);
    for (int i = 0; i < numbers; i++)
        cells[1 + i] = text[i];
    table_row(t, cells);
}

static void add_setup(struct table *t, const struct listing *l, int pool)
{
    const struct pool_counts *n = &l->counts[pool];
    char wait[CELL_CHARS], most[CELL_CHARS];
    output_seconds(saturate_mul(n->ack_wait_ms, 1000000), wait);
    number(most, n->max_ack_pending);
    table_row(t, (const char *[SETUP_COLUMNS]){l->pools.list[pool].name, wait, most,
                                               n->leader[0] != '\0' ? n->leader : "-"});
}

static void print_tables(const struct listing *l)
{
    struct table load = {.columns = 1 + l->priorities.count + MEASURES};
    struct table setup = {.columns = SETUP_COLUMNS}, settings = {.columns = 2};
    add_heading(&load, l);
    table_row(&setup, (const char *[SETUP_COLUMNS]){"pool", "ack_wait", "max_pending", "leader"});
    table_row(&settings, (const char *[]){"pool", "settings"});
    for (int i = 0; i < l->pools.count; i++) {
        add_load(&load, l, i);
        add_setup(&setup, l, i);
        table_row(&settings, (const char *[]){l->pools.list[i].name, l->pools.list[i].json});
    }
    table_print(&load);
    output_print("\n");
    table_print(&setup);
    output_print("\n");
    table_print(&settings);
}

static void print_text(const struct listing *l)
{
    print_tables(l);
    for (int i = 0; i < l->pools.count; i++) {
        struct advice list[ADVICE_MAX];
        const char *name = l->pools.list[i].name;
        int n = advise(&l->pools.list[i], &l->stats[i], list);
        for (int k = 0; k < n; k++)
            output_print("warning: pool %s: %s → %s\n", name, list[k].text, list[k].fix);
    }
}

/* ---- reading */

/* For stats_query_gather: the leader of every pool has answered. */
static bool leaders_answered(void *arg, const json_t *answers)
{
    const struct listing *l = arg;
    for (int i = 0; i < l->pools.count; i++) {
        if (l->counts[i].leader[0] != '\0' && !stats_query_by(answers, l->counts[i].leader))
            return false;
    }
    return true;
}

static ax_err count_pools(natsConnection *nc, struct listing *l, struct problem *p)
{
    ax_err err = provision_priorities(nc, &l->priorities, p);
    if (err == AX_OK)
        err = pool_list_read(nc, &l->pools, p);
    l->counts = calloc((size_t)l->pools.count + 1, sizeof(*l->counts));
    l->stats = calloc((size_t)l->pools.count + 1, sizeof(*l->stats));
    if (err == AX_OK && (l->counts == NULL || l->stats == NULL))
        err = problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    for (int i = 0; err == AX_OK && i < l->pools.count; i++)
        err = pool_count(nc, &l->priorities, l->pools.list[i].name, &l->counts[i], p);
    return err;
}

static ax_err read_pools(natsConnection *nc, struct listing *l, struct problem *p)
{
    struct stats_query query = {0};
    ax_err err = stats_query_ask(&query, nc, p); /* the answers arrive while the server is read */
    if (err == AX_OK)
        err = count_pools(nc, l, p);
    if (err == AX_OK)
        stats_query_gather(&query, STATS_WAIT_MS, leaders_answered, l);
    for (int i = 0; err == AX_OK && i < l->pools.count; i++)
        stats_query_pool(query.answers, l->pools.list[i].name, &l->stats[i]);
    stats_query_free(&query);
    return err;
}

int pool_ls(natsConnection *nc, bool json)
{
    struct problem p = {0};
    struct listing l = {0};
    ax_err err = read_pools(nc, &l, &p);
    if (err == AX_OK && json)
        print_json(&l);
    else if (err == AX_OK)
        print_text(&l);
    free(l.counts);
    free(l.stats);
    pool_list_free(&l.pools);
    return err != AX_OK ? say_problem(&p) : CLI_OK;
}
