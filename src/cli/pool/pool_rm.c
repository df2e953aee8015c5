/* The order: the entry is removed before anything else, so that from then on nobody takes a task
 * for the pool without giving it an entry again; then the daemons have had time to hear of it, and
 * the streams are looked at once more. A task that came in between brings the entry back. */
#include "cli/pool/pool_rm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/streams/pool_tasks.h"
#include "cli/streams/stats_query.h"
#include "cli/streams/stored.h"
#include "task/names.h"

/* The daemons answer in the order in which they hear: one that answers has heard the removal. How
 * many there are nobody knows; those that are up answer within this time. */
#define HEARD_MS 300
/* What ingress holds of the spill, or of tasks that fell due, enters its queue within this time. */
#define FED_MS 1500
#define ROUNDS_MAX 5
#define REASON "pool removed"

struct removal {
    natsConnection *nc;
    const char *pool;
    bool force;
    char subject[SUBJECT_MAX_CHARS]; /* of its entry */
    struct priorities priorities;
    char *settings; /* its entry as it was; NULL: it has none (owned) */
    int64_t buried;
};

/* ---- the entry */

/* *seq: of the last message of its subject, 0: none. */
static ax_err read_entry(struct removal *r, uint64_t *seq, struct problem *p)
{
    struct stored s;
    ax_err err = stored_last(r->nc, STREAM_POOLS, r->subject, &s, p);
    *seq = err == AX_OK ? s.seq : 0;
    if (err == AX_OK && stored_header(s.msg, "KV-Operation") == NULL && r->settings == NULL) {
        size_t bytes = (size_t)natsMsg_GetDataLength(s.msg);
        r->settings = bytes > 0 ? strndup(natsMsg_GetData(s.msg), bytes) : strdup("");
        if (r->settings == NULL)
            err = problem_set(p, AX_E_NOMEM, "%s", ax_err_text(AX_E_NOMEM));
    }
    stored_clear(&s);
    return err == AX_E_NOT_FOUND ? AX_OK : err;
}

/* value NULL: a marker that the entry was removed. AX_E_SERVER: somebody else wrote it meanwhile.
 */
static ax_err write_entry(const struct removal *r, const char *value, uint64_t seq,
                          struct problem *p)
{
    natsMsg *msg = NULL;
    char expected[24];
    ax_err err = AX_E_NOMEM;
    snprintf(expected, sizeof(expected), "%" PRIu64, seq);
    natsStatus s = natsMsg_Create(&msg, r->subject, NULL, value,
                                  value != NULL ? (int)strlen(value) : 0);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(msg, HDR_EXPECT_SUBJECT_SEQ, expected);
    if (s == NATS_OK && value == NULL)
        s = natsMsgHeader_Set(msg, "KV-Operation", r->force ? "PURGE" : "DEL");
    if (s == NATS_OK)
        err = stored_publish(r->nc, msg, NULL, p);
    else
        problem_set(p, err, "%s", ax_err_text(err));
    natsMsg_Destroy(msg);
    return err;
}

static ax_err remove_entry(struct removal *r, struct problem *p)
{
    for (int i = 0; i < ROUNDS_MAX; i++) {
        uint64_t seq;
        char *before = r->settings;
        r->settings = NULL;
        ax_err err = read_entry(r, &seq, p);
        bool exists = r->settings != NULL;
        if (!exists)
            r->settings = before;
        else
            free(before);
        if (err != AX_OK || !exists)
            return err;
        err = write_entry(r, NULL, seq, p);
        if (err != AX_E_SERVER)
            return err;
    }
    return problem_set(p, AX_E_BUSY, "pool %s: others kept changing its entry; try again", r->pool);
}

/* A task came meanwhile. A daemon may have put an entry back already, without the settings. */
static int put_back(struct removal *r)
{
    struct problem p = {0};
    uint64_t seq;
    ax_err err = read_entry(r, &seq, &p);
    if (err == AX_OK && r->settings != NULL)
        err = write_entry(r, r->settings, seq, &p);
    if (err != AX_OK && err != AX_E_SERVER)
        return say_problem(&p);
    return say(CLI_FAILED, "pool %s: a task came meanwhile; the pool stays", r->pool);
}

/* ---- the rest */

static bool never(void *arg, const json_t *answers)
{
    (void)arg;
    (void)answers;
    return false;
}

/* Until the daemons have heard that the entry is gone. */
static ax_err let_hear(const struct removal *r, int64_t ms, struct problem *p)
{
    struct stats_query query = {0};
    ax_err err = stats_query_ask(&query, r->nc, p);
    if (err == AX_OK)
        stats_query_gather(&query, ms, never, NULL);
    stats_query_free(&query);
    return err;
}

static ax_err delete_consumer(const struct removal *r, const char *stream, bool *found,
                              struct problem *p)
{
    char what[192];
    json_t *reply = NULL;
    int err_code = 0;
    snprintf(what, sizeof(what), "CONSUMER.DELETE.%s.%s", stream, r->pool);
    ax_err err = provision_json(r->nc, what, NULL, &reply, &err_code, p);
    json_decref(reply);
    *found = *found || err == AX_OK;
    bool gone = err_code == JSERR_CONSUMER_NOT_FOUND || err_code == JSERR_STREAM_NOT_FOUND;
    return err == AX_E_SERVER && gone ? AX_OK : err;
}

static ax_err delete_consumers(const struct removal *r, bool *found, struct problem *p)
{
    ax_err err = delete_consumer(r, STREAM_WORK, found, p);
    for (int i = 0; err == AX_OK && i < r->priorities.count; i++)
        err = delete_consumer(r, r->priorities.list[i].stream, found, p);
    return err;
}

static int refuse(const struct removal *r, const struct pool_tasks *n)
{
    return say(CLI_FAILED,
               "pool %s has tasks: %" PRId64 " queued, %" PRId64 " running, %" PRId64
               " later, %" PRId64 " spilled; nothing was removed. `ax pool rm %s --force` makes "
               "dead letters of them",
               r->pool, n->queued, n->running, n->later, n->spilled, r->pool);
}

/* Buries, or counts what there is. */
static ax_err look(struct removal *r, struct pool_tasks *n, struct problem *p)
{
    ax_err err = pool_tasks_count(r->nc, &r->priorities, r->pool, n, p);
    for (int i = 0; err == AX_OK && r->force && pool_tasks_sum(n) > 0 && i < ROUNDS_MAX; i++) {
        err = pool_tasks_bury(r->nc, &r->priorities, r->pool, REASON, &r->buried, p);
        if (err == AX_OK)
            err = pool_tasks_count(r->nc, &r->priorities, r->pool, n, p);
    }
    return err;
}

static int say_done(const struct removal *r, bool found)
{
    if (!found && r->settings == NULL && r->buried == 0)
        return say(CLI_FAILED, "pool %s is not there", r->pool);
    output_print("pool %s removed", r->pool);
    if (r->buried > 0)
        output_print("; its tasks are dead letters (ax dead ls %s)", r->pool);
    output_print("\n");
    return CLI_OK;
}

/* Whether a daemon has given it an entry again. */
static ax_err came_back(const struct removal *r, bool *back, struct problem *p)
{
    struct stored s;
    ax_err err = stored_last(r->nc, STREAM_POOLS, r->subject, &s, p);
    *back = err == AX_OK && stored_header(s.msg, "KV-Operation") == NULL;
    stored_clear(&s);
    return err == AX_E_NOT_FOUND ? AX_OK : err;
}

/* One removal. *tasks: these came meanwhile, and nothing more was removed. */
static ax_err remove_once(struct removal *r, struct pool_tasks *tasks, bool *found, bool *back,
                          struct problem *p)
{
    ax_err err = remove_entry(r, p);
    if (err == AX_OK)
        err = let_hear(r, HEARD_MS, p);
    if (err == AX_OK)
        err = look(r, tasks, p);
    if (err != AX_OK || pool_tasks_sum(tasks) > 0)
        return err;
    err = delete_consumers(r, found, p);
    if (err == AX_OK && r->buried > 0)
        err = let_hear(r, FED_MS, p);
    if (err == AX_OK)
        err = look(r, tasks, p);
    return err == AX_OK ? came_back(r, back, p) : err;
}

static int run(struct removal *r)
{
    struct problem p = {0};
    struct pool_tasks tasks = {0};
    bool found = false, back = true;
    ax_err err = provision_priorities(r->nc, &r->priorities, &p);
    if (err == AX_OK)
        err = pool_tasks_count(r->nc, &r->priorities, r->pool, &tasks, &p);
    if (err == AX_OK && pool_tasks_sum(&tasks) > 0 && !r->force)
        return refuse(r, &tasks);
    for (int i = 0; err == AX_OK && back && i < ROUNDS_MAX; i++) {
        back = false;
        err = remove_once(r, &tasks, &found, &back, &p);
        if (err == AX_OK && pool_tasks_sum(&tasks) > 0)
            return put_back(r);
    }
    if (err != AX_OK)
        return say_problem(&p);
    return back ? say(CLI_FAILED, "pool %s is used: its entry comes back", r->pool)
                : say_done(r, found);
}

int pool_rm(natsConnection *nc, const char *pool, bool force)
{
    struct removal r = {.nc = nc, .pool = pool, .force = force};
    snprintf(r.subject, sizeof(r.subject), POOLS_PREFIX "%s", pool);
    int code = run(&r);
    free(r.settings);
    return code;
}
