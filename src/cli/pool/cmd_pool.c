/* `ax pool`: adds pools, changes their settings; `ax pool ls` is pool_ls.c, `rm` pool_rm.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/jserr.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/pool/pool_ls.h"
#include "cli/pool/pool_rm.h"
#include "cli/session.h"
#include "cli/streams/pool.h"
#include "cli/streams/stored.h"
#include "cli/verb.h"
#include "task/names.h"
#include "task/settings.h"

#define SET_TRIES 10

const char cmd_pool_detail[] = "Settings (k=v):\n"
#define X(field, name, kind, min, max, standard, help) "  " #name ": " help "\n"
    SETTINGS_TABLE(X)
#undef X
        "They are the JSON under the pool's name in the bucket AX_POOLS; `nats kv put\n"
        "AX_POOLS NAME '{\"rate\":50}'` does the same as `ax pool set`. "
        "Concurrency and heartbeat time-out belong to the consumer:\n"
        "`nats consumer edit AX_WORK NAME --max-pending 100 --wait 60s`.";

struct pool {
    const struct verb *verb;
    bool json, force;
    const char *name;
    /* "rate=50" … */
    int pair_count;
    char **pairs;
};

/* Applies "rate=50" … to *s. */
static int apply(struct settings *s, int count, char **pairs)
{
    for (int i = 0; i < count; i++) {
        char field[64];
        const char *value = strchr(pairs[i], '=');
        if (value == NULL || value == pairs[i] || (size_t)(value - pairs[i]) >= sizeof(field)) {
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

static int add(natsConnection *nc, const struct pool *pool)
{
    struct settings s;
    struct problem p = {0};
    settings_default(&s);
    int code = apply(&s, pool->pair_count, pool->pairs);
    if (code != CLI_OK)
        return code;
    char *json = settings_format(&s);
    ax_err err = json != NULL ? pool_add(nc, pool->name, json, &p)
                              : problem_set(&p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    free(json);
    if (err == AX_E_EXISTS) {
        return say(CLI_FAILED, "pool %s is there already: change it with `ax pool set %s …`",
                   pool->name, pool->name);
    }
    return err != AX_OK ? say_problem(&p) : CLI_OK;
}

/* The settings in the bucket, and the sequence of their message. Returns CLI_OK, or the exit code
 * after saying what is wrong. */
static int read_settings(natsConnection *nc, const char *pool, const char *subject,
                         struct settings *out, uint64_t *seq)
{
    struct problem p = {0};
    struct stored old;
    ax_err err = stored_last(nc, STREAM_POOLS, subject, &old, &p);
    if (err == AX_E_NOT_FOUND)
        return say(CLI_FAILED, "pool %s is not there: add it with `ax pool add %s`", pool, pool);
    if (err != AX_OK)
        return say_problem(&p);
    settings_default(out);
    err = settings_parse(out, natsMsg_GetData(old.msg), (size_t)natsMsg_GetDataLength(old.msg), &p);
    *seq = old.seq;
    stored_clear(&old);
    if (err != AX_OK) {
        return say(CLI_FAILED,
                   "pool %s: its settings are not readable (%s); put them right with nats kv put",
                   pool, p.text);
    }
    return CLI_OK;
}

/* Replaces the message of sequence seq, if it is still the last one. *err_code: as of
 * stored_publish. */
static ax_err write_settings(natsConnection *nc, const char *subject, const struct settings *s,
                             uint64_t seq, int *err_code, struct problem *p)
{
    natsMsg *msg = NULL;
    char expected[32];
    char *json = settings_format(s);
    ax_err err = AX_E_NOMEM;
    snprintf(expected, sizeof(expected), "%" PRIu64, seq);
    if (json == NULL || natsMsg_Create(&msg, subject, NULL, json, (int)strlen(json)) != NATS_OK ||
        natsMsgHeader_Set(msg, HDR_EXPECT_SUBJECT_SEQ, expected) != NATS_OK)
        problem_set(p, err, "%s", ax_err_text(err));
    else
        err = stored_publish(nc, msg, err_code, p);
    natsMsg_Destroy(msg);
    free(json);
    return err;
}

static int set_pairs(natsConnection *nc, const char *pool, int count, char **pairs)
{
    char subject[SUBJECT_MAX_CHARS];
    snprintf(subject, sizeof(subject), POOLS_PREFIX "%s", pool);
    for (int i = 0; i < SET_TRIES; i++) {
        struct problem p = {0};
        struct settings s;
        uint64_t seq = 0;
        int err_code = 0;
        int code = read_settings(nc, pool, subject, &s, &seq);
        if (code == CLI_OK)
            code = apply(&s, count, pairs);
        if (code != CLI_OK)
            return code;
        ax_err err = write_settings(nc, subject, &s, seq, &err_code, &p);
        /* Somebody else wrote in between, or our own try did that was not answered: the change is
         * made once more, on top of that. */
        if (err_code != JSERR_WRONG_LAST_SEQ)
            return err != AX_OK ? say_problem(&p) : CLI_OK;
    }
    return say(CLI_FAILED, "pool %s: others kept changing it; try again", pool);
}

static int set(natsConnection *nc, const struct pool *pool)
{
    return set_pairs(nc, pool->name, pool->pair_count, pool->pairs);
}

static int pause_it(natsConnection *nc, const struct pool *pool)
{
    return set_pairs(nc, pool->name, 1, (char *[]){"paused=true"});
}

static int resume(natsConnection *nc, const struct pool *pool)
{
    return set_pairs(nc, pool->name, 1, (char *[]){"paused=false"});
}

static int list(natsConnection *nc, const struct pool *pool)
{
    return pool_ls(nc, pool->json);
}

static int remove_it(natsConnection *nc, const struct pool *pool)
{
    return pool_rm(nc, pool->name, pool->force);
}

#define WORDS_MAX 64

/* min, max: words, the verb included. */
static const struct verb {
    const char *name;
    int min, max;
    int (*run)(natsConnection *nc, const struct pool *pool);
} verbs[] = {
    {"ls", 1, 1, list},        {"add", 2, WORDS_MAX, add}, {"set", 3, WORDS_MAX, set},
    {"pause", 2, 2, pause_it}, {"resume", 2, 2, resume},   {"rm", 2, 2, remove_it},
};

static int run(natsConnection *nc, void *arg)
{
    const struct pool *pool = arg;
    return pool->verb->run(nc, pool);
}

int cmd_pool(struct cli *c)
{
    struct pool pool = {0};
    const struct flag flags[] = {
        {"json", FLAG_BOOL, &pool.json, 0, 0, NULL, "ls: print one line of JSON"},
        {"force", FLAG_BOOL, &pool.force, 0, 0, NULL, "rm: also when it has tasks"}};
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 1, WORDS_MAX);
    if (code >= 0)
        return code;
    pool.verb = verb_find(c->argv[0], verbs, sizeof(verbs) / sizeof(verbs[0]), sizeof(verbs[0]));
    if (pool.verb == NULL) {
        return verb_unknown(c, c->argv[0], verbs, sizeof(verbs) / sizeof(verbs[0]),
                            sizeof(verbs[0]));
    }
    if (c->argc < pool.verb->min || c->argc > pool.verb->max)
        return say(CLI_USAGE, "usage: ax pool %s", c->command->args);
    if (c->argc >= 2) {
        pool.name = c->argv[1];
        pool.pair_count = c->argc - 2;
        pool.pairs = c->argv + 2;
    }
    if (!session_check_name("pool", pool.name))
        return CLI_USAGE;
    return session_run(c, run, &pool);
}
