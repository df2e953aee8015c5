#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/pipeline.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/streams/pool.h"
#include "cli/streams/stats_query.h"
#include "cli/streams/stored.h"
#include "cli/table.h"
#include "task/names.h"
#include "task/settings.h"

#define SET_TRIES 10
#define TOLD_WAIT_MS 1000

const char cmd_pool_detail[] = "Settings (k=v):\n"
#define X(field, name, kind, min, max, standard, help) "  " #name ": " help "\n"
    SETTINGS_TABLE(X)
#undef X
        "They are the JSON under the pool's name in the bucket AX_POOLS; `nats kv put\n"
        "AX_POOLS NAME '{\"rate\":50}'` does the same as `ax pool set`. "
        "Concurrency and heartbeat time-out belong to the consumer:\n"
        "`nats consumer edit AX_WORK NAME --max-pending 100 --wait 60s`.";

static bool check_name(const char *name)
{
    if (name_is_valid(name))
        return true;
    say(CLI_USAGE, "pool: %s given, allowed are 1 to 32 of A-Z a-z 0-9 _ -", name);
    return false;
}

/* Applies "rate=50" … to *s. */
static int apply(struct settings *s, int count, char **pairs)
{
    for (int i = 0; i < count; i++) {
        char field[64];
        const char *value = strchr(pairs[i], '=');
        if (!value || value == pairs[i] || (size_t)(value - pairs[i]) >= sizeof(field)) {
            return say(CLI_USAGE, "%s: allowed is a setting and its value, as in rate=50",
                       pairs[i]);
        }
        snprintf(field, sizeof(field), "%.*s", (int)(value - pairs[i]), pairs[i]);
        struct problem p = {0};
        if (settings_set(s, field, value + 1, &p))
            return say(CLI_USAGE, "%s", p.text);
    }
    return CLI_OK;
}

static int add(natsConnection *nc, const char *pool, int count, char **pairs)
{
    struct settings s;
    settings_default(&s);
    int code = apply(&s, count, pairs);
    if (code)
        return code;
    char *json = settings_format(&s);
    struct problem p = {0};
    ax_err e = json ? pool_add(nc, pool, json, &p)
                    : problem_set(&p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    free(json);
    if (e == AX_E_EXISTS) {
        return say(CLI_FAILED, "pool %s is there already: change it with `ax pool set %s …`", pool,
                   pool);
    }
    return e ? say_problem(&p) : CLI_OK;
}

static int set(natsConnection *nc, const char *pool, int count, char **pairs)
{
    char subject[SUBJECT_MAX_CHARS];
    snprintf(subject, sizeof(subject), POOLS_PREFIX "%s", pool);
    struct problem p = {0};
    for (int i = 0; i < SET_TRIES; i++) {
        struct stored old;
        ax_err e = stored_last(nc, STREAM_POOLS, subject, &old, &p);
        if (e == AX_E_NOT_FOUND) {
            return say(CLI_FAILED, "pool %s is not there: add it with `ax pool add %s`", pool,
                       pool);
        }
        if (e)
            return say_problem(&p);
        struct settings s;
        settings_default(&s);
        e = settings_parse(&s, natsMsg_GetData(old.msg), (size_t)natsMsg_GetDataLength(old.msg),
                           &p);
        uint64_t seq = old.seq;
        stored_clear(&old);
        if (e) {
            return say(
                CLI_FAILED,
                "pool %s: its settings are not readable (%s); put them right with nats kv put",
                pool, p.text);
        }
        int code = apply(&s, count, pairs);
        if (code)
            return code;
        char *json = settings_format(&s);
        natsMsg *msg = NULL;
        char expected[32];
        snprintf(expected, sizeof(expected), "%" PRIu64, seq);
        if (!json || natsMsg_Create(&msg, subject, NULL, json, (int)strlen(json)) != NATS_OK ||
            natsMsgHeader_Set(msg, HDR_EXPECT_SUBJECT_SEQ, expected) != NATS_OK)
            return say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
        int err_code = 0;
        e = stored_publish(nc, msg, &err_code, &p);
        natsMsg_Destroy(msg);
        free(json);
        /* Somebody else wrote in between, or our own unanswered try did: on top of that, once
         * more. */
        if (err_code == JSERR_WRONG_LAST_SEQ)
            continue;
        return e ? say_problem(&p) : CLI_OK;
    }
    return say(CLI_FAILED, "pool %s: others kept changing it; try again", pool);
}

static void cell_number(char *buf, size_t cap, int64_t n)
{
    if (n < 0)
        snprintf(buf, cap, "-");
    else
        snprintf(buf, cap, "%" PRId64, n);
}

static void cell_ms(char *buf, double ms)
{
    if (ms < 0)
        strcpy(buf, "-");
    else
        output_seconds((int64_t)(ms * 1e6), buf);
}

static json_t *json_known(double value)
{
    return value < 0 ? json_null() : json_real(value);
}

#define ADVICE_MAX 2

static int advise(const char *pool, const struct stats_pool *t, struct advice list[ADVICE_MAX])
{
    int n = 0;
    n += stats_ack_wait_advice(pool, t, &list[n]);
    n += stats_late_ack_advice(pool, t, &list[n]);
    return n;
}

/* What its leader tells of the pool; null where nobody does. */
static void add_told(json_t *o, const char *pool, const struct stats_pool *t)
{
    struct advice list[ADVICE_MAX];
    json_t *advice = json_array();
    int n = advise(pool, t, list);
    for (int i = 0; i < n; i++) {
        json_array_append_new(advice,
                              json_pack("{s:s,s:s}", "text", list[i].text, "turn", list[i].fix));
    }
    json_object_set_new(o, "pending", t->answered ? json_integer(t->pending) : json_null());
    json_object_set_new(o, "busy", json_known(t->busy));
    json_object_set_new(o, "run_p50_ms", json_known(t->run.p50_ms));
    json_object_set_new(o, "run_p99_ms", json_known(t->run.p99_ms));
    json_object_set_new(o, "silence_p99_ms", json_known(t->silence.p99_ms));
    json_object_set_new(o, "advice", advice);
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

static void print_table(const struct priorities *ps, const struct pool_list *pools,
                        const struct pool_counts *counts, const struct stats_pool *told)
{
    struct table t = {.columns = ps->count + 11};
    const char *cells[PRIORITIES_MAX + 11] = {"pool"};
    int k = 1;
    for (int i = 0; i < ps->count; i++)
        cells[k++] = ps->list[i].name;
    cells[k++] = "handed";
    cells[k++] = "running";
    cells[k++] = "pulls";
    cells[k++] = "busy";
    cells[k++] = "p50";
    cells[k++] = "p99";
    cells[k++] = "ack_wait";
    cells[k++] = "max_pending";
    cells[k++] = "leader";
    cells[k++] = "settings";
    table_row(&t, cells);
    for (int r = 0; r < pools->count; r++) {
        char text[PRIORITIES_MAX + 10][32];
        const struct pool_counts *n = &counts[r];
        k = 1;
        cells[0] = pools->list[r].name;
        for (int i = 0; i < ps->count; i++, k++)
            cell_number(text[k], sizeof(text[k]), n->queued[i]);
        cell_number(text[k++], sizeof(text[0]), n->handed);
        cell_number(text[k++], sizeof(text[0]), n->running);
        cell_number(text[k++], sizeof(text[0]), n->pulls);
        cell_number(text[k], sizeof(text[0]), -1);
        if (told[r].busy >= 0)
            snprintf(text[k], sizeof(text[0]), "%.0f%%", 100 * told[r].busy);
        cell_ms(text[++k], told[r].run.p50_ms);
        cell_ms(text[++k], told[r].run.p99_ms);
        output_seconds(n->ack_wait_ms * 1000000, text[++k]);
        k++;
        cell_number(text[k++], sizeof(text[0]), n->max_ack_pending);
        for (int i = 1; i < k; i++)
            cells[i] = text[i];
        cells[k++] = n->leader[0] ? n->leader : "-";
        cells[k] = pools->list[r].json;
        table_row(&t, cells);
    }
    table_print(&t);
}

static void print_advice(const struct pool_list *pools, const struct stats_pool *told)
{
    struct advice list[ADVICE_MAX];
    for (int i = 0; i < pools->count; i++) {
        int n = advise(pools->list[i].name, &told[i], list);
        for (int k = 0; k < n; k++)
            printf("warning: pool %s: %s → %s\n", pools->list[i].name, list[k].text, list[k].fix);
    }
}

struct listed {
    const struct pool_list *pools;
    const struct pool_counts *counts;
};

/* The leader of every pool has answered. */
static bool leaders_told(void *arg, const json_t *answers)
{
    const struct listed *l = arg;
    for (int i = 0; i < l->pools->count; i++) {
        if (l->counts[i].leader[0] && !stats_query_by(answers, l->counts[i].leader))
            return false;
    }
    return true;
}

static int list(natsConnection *nc, bool json)
{
    struct problem p = {0};
    struct priorities ps;
    struct pool_list pools = {0};
    struct stats_query told = {0};
    ax_err e = stats_query_ask(&told, nc, &p); /* the answers come while the server is asked */
    if (!e)
        e = provision_priorities(nc, &ps, &p);
    if (!e)
        e = pool_list_read(nc, &pools, &p);
    struct pool_counts *counts = calloc((size_t)pools.count + 1, sizeof(*counts));
    struct stats_pool *figures = calloc((size_t)pools.count + 1, sizeof(*figures));
    if (!e && (!counts || !figures))
        e = problem_set(&p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    for (int i = 0; !e && i < pools.count; i++)
        e = pool_count(nc, &ps, pools.list[i].name, &counts[i], &p);
    if (!e)
        stats_query_gather(&told, TOLD_WAIT_MS, leaders_told, &(struct listed){&pools, counts});
    for (int i = 0; !e && i < pools.count; i++)
        stats_query_pool(told.answers, pools.list[i].name, &figures[i]);
    if (!e && json) {
        json_t *all = json_array();
        for (int i = 0; i < pools.count; i++) {
            json_t *settings = json_loads(pools.list[i].json, JSON_DISABLE_EOF_CHECK, NULL);
            json_t *o = counts_json(&counts[i], &ps);
            json_object_set_new(o, "pool", json_string(pools.list[i].name));
            json_object_set_new(o, "settings", settings ? settings : json_null());
            add_told(o, pools.list[i].name, &figures[i]);
            json_array_append_new(all, o);
        }
        output_json(all);
    } else if (!e) {
        print_table(&ps, &pools, counts, figures);
        print_advice(&pools, figures);
    }
    free(counts);
    free(figures);
    stats_query_free(&told);
    pool_list_free(&pools);
    return e ? say_problem(&p) : CLI_OK;
}

int cmd_pool(struct cli *c)
{
    bool json = false;
    const struct flag flags[] = {
        {"json", FLAG_BOOL, &json, 0, 0, NULL, "ls: print one line of JSON"}};
    int code = args_parse(c, flags, 1, 1, 64);
    if (code >= 0)
        return code;
    const char *what = c->argv[0];
    bool is_add = strcmp(what, "add") == 0, is_set = strcmp(what, "set") == 0,
         is_list = strcmp(what, "ls") == 0;
    bool is_pause = strcmp(what, "pause") == 0, is_resume = strcmp(what, "resume") == 0;
    if (!(is_list && c->argc == 1) && !((is_pause || is_resume) && c->argc == 2) &&
        !(is_add && c->argc >= 2) && !(is_set && c->argc >= 3))
        return say(CLI_USAGE, "usage: ax pool %s", c->command->args);
    if (!is_list && !check_name(c->argv[1]))
        return CLI_USAGE;
    natsConnection *nc = cli_connect(c);
    if (!nc)
        return CLI_FAILED;
    if (is_list)
        code = list(nc, json);
    else if (is_add)
        code = add(nc, c->argv[1], c->argc - 2, c->argv + 2);
    else if (is_pause || is_resume)
        code = set(nc, c->argv[1], 1, (char *[]){is_pause ? "paused=true" : "paused=false"});
    else
        code = set(nc, c->argv[1], c->argc - 2, c->argv + 2);
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return code;
}
