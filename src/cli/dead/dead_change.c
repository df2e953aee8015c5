#include "cli/dead/dead_change.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/text/plural.h"
#include "bus/provision/provision.h"
#include "cli/cli.h"
#include "cli/dead/dead_letter.h"
#include "cli/dead/dead_retry.h"
#include "cli/output.h"
#include "cli/streams/server_clock.h"
#include "cli/streams/stored_count.h"

#define SAID_MAX 3 /* failures of many letters most often have one cause */

struct changing {
    const struct dead_change *change;
    struct priorities priorities;
    struct dead_retry retry;
    struct clock clock;
    int64_t changed, held, failed;
};

static const char *done_word(const struct dead_change *c)
{
    return c->drop ? "dropped" : "queued again";
}

/* ---- one */

static int print_one(const struct dead_change *c, const struct dead_retry *r, const char *task)
{
    if (c->json && c->drop) {
        output_json(json_pack("{s:s,s:s}", "task", task, "state", "dropped"));
    } else if (c->json) {
        output_json(json_pack("{s:s,s:s,s:s,s:s}", "task", task, "state", "queued", "priority",
                              r->queue, "pool", r->pool));
    } else if (c->drop) {
        output_print("%s dropped\n", task);
    } else {
        output_print("%s queued again (%s, pool %s)\n", task, r->queue, r->pool);
    }
    return CLI_OK;
}

static int drop_one(natsConnection *nc, const struct changing *c, const struct stored *letter)
{
    struct problem p = {0};
    if (dead_letter_delete(nc, letter, &p) != AX_OK)
        return say_problem(&p);
    return print_one(c->change, NULL, strrchr(letter->subject, '.') + 1);
}

static int retry_one(natsConnection *nc, struct changing *c, const struct stored *letter)
{
    struct problem p = {0};
    switch (dead_retry(nc, &c->retry, letter, &p)) {
    case DEAD_RETRY_QUEUED:
        return print_one(c->change, &c->retry, c->retry.task);
    case DEAD_RETRY_FULL:
    case DEAD_RETRY_HELD:
        return say(CLI_BUSY, "%s", p.text);
    case DEAD_RETRY_FAILED:
        break;
    }
    return say(CLI_FAILED, "%s", p.text);
}

static ax_err begin(natsConnection *nc, const struct dead_change *change, struct changing *c,
                    struct problem *p)
{
    *c = (struct changing){.change = change};
    c->retry = (struct dead_retry){.priorities = &c->priorities, .priority = change->priority};
    if (change->drop)
        return AX_OK;
    c->retry.clock = &c->clock;
    ax_err err = provision_priorities(nc, &c->priorities, p);
    return err == AX_OK ? server_clock_read(nc, STREAM_DEAD, &c->clock, p) : err;
}

int dead_change_one(natsConnection *nc, const struct dead_change *change, const char *text)
{
    struct problem p = {0};
    struct changing c;
    struct stored s;
    if (begin(nc, change, &c, &p) != AX_OK)
        return say_problem(&p);
    if (dead_letter_find(nc, change->pool, text, &s, &p) != AX_OK)
        return say_problem(&p);
    int code = change->drop ? drop_one(nc, &c, &s) : retry_one(nc, &c, &s);
    stored_clear(&s);
    return code;
}

/* ---- all */

static void count_failure(struct changing *c, const struct problem *p)
{
    if (c->failed++ < SAID_MAX)
        say(CLI_FAILED, "%s", p->text);
}

static int drop_next(natsConnection *nc, const struct stored *letter, void *arg)
{
    struct changing *c = arg;
    struct problem p = {0};
    if (dead_letter_delete(nc, letter, &p) == AX_OK)
        c->changed++;
    else
        count_failure(c, &p);
    return CLI_OK;
}

static bool is_all_full(const struct changing *c)
{
    bool full = c->priorities.count > 0;
    for (int i = 0; i < c->priorities.count; i++)
        full = full && c->retry.is_full[i];
    int only = c->change->priority != NULL ? priorities_find(&c->priorities, c->change->priority)
                                           : -1;
    return full || (only >= 0 && c->retry.is_full[only]);
}

static int retry_next(natsConnection *nc, const struct stored *letter, void *arg)
{
    struct changing *c = arg;
    struct problem p = {0};
    switch (dead_retry(nc, &c->retry, letter, &p)) {
    case DEAD_RETRY_QUEUED:
        c->changed++;
        break;
    case DEAD_RETRY_FULL:
        break;
    case DEAD_RETRY_HELD:
        c->held++;
        break;
    case DEAD_RETRY_FAILED:
        count_failure(c, &p);
        break;
    }
    return is_all_full(c) ? DEAD_LETTER_STOP : CLI_OK;
}

/* ", 14 stay: queue low is full" */
static void print_reasons(const struct changing *c, int64_t left)
{
    const char *before = ": ";
    if (left == 0)
        return;
    output_print(", %" PRId64 " stay%s", left, left == 1 ? "s" : "");
    for (int i = 0; i < c->priorities.count; i++) {
        if (!c->retry.is_full[i])
            continue;
        output_print("%squeue %s is full", before, c->priorities.list[i].name);
        before = ", ";
    }
    if (c->held > 0) {
        output_print("%s%" PRId64 " just being released", before, c->held);
        before = ", ";
    }
    if (c->failed > 0)
        output_print("%s%" PRId64 " failed", before, c->failed);
}

static json_t *sums_json(const struct changing *c, int64_t left)
{
    json_t *full = json_array();
    for (int i = 0; i < c->priorities.count; i++) {
        if (c->retry.is_full[i])
            json_array_append_new(full, json_string(c->priorities.list[i].name));
    }
    return json_pack("{s:I,s:I,s:I,s:I,s:o}", c->change->drop ? "dropped" : "queued",
                     (json_int_t)c->changed, "left", (json_int_t)left, "held", (json_int_t)c->held,
                     "failed", (json_int_t)c->failed, "full", full);
}

static bool is_any_full(const struct changing *c)
{
    bool any = false;
    for (int i = 0; i < c->priorities.count; i++)
        any = any || c->retry.is_full[i];
    return any;
}

static int print_sums(const struct changing *c, int64_t left)
{
    if (c->change->json) {
        output_json(sums_json(c, left));
    } else {
        output_print("%" PRId64 " dead letter%s %s", c->changed, plural_s(c->changed),
                     done_word(c->change));
        print_reasons(c, left);
        output_print("\n");
    }
    if (c->failed > 0)
        return CLI_FAILED;
    return is_any_full(c) || c->held > 0 ? CLI_BUSY : CLI_OK;
}

int dead_change_all(natsConnection *nc, const struct dead_change *change)
{
    char filter[SUBJECT_MAX_CHARS];
    struct problem p = {0};
    struct changing c;
    uint64_t left = 0;
    if (begin(nc, change, &c, &p) != AX_OK)
        return say_problem(&p);
    int code = dead_letter_each(nc, change->pool, change->drop ? drop_next : retry_next, &c);
    snprintf(filter, sizeof(filter), "ax.dead.%s.*", change->pool != NULL ? change->pool : "*");
    if (stored_count(nc, STREAM_DEAD, filter, &left, &p) != AX_OK)
        return say_problem(&p);
    int sums = print_sums(&c, (int64_t)left);
    return code != CLI_OK ? code : sums;
}
