#include "ingress/pools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "bus/provision/pool_entry.h"
#include "bus/reader.h"
#include "bus/wire.h"
#include "ingress/ingress.h"
#include "task/names.h"
#include "task/settings.h"

/* New pools: each costs the dispatchers some ten requests to the server. */
#define NEW_PER_S 20
#define NEW_BURST 50
/* What a condition decides is in the bucket a moment after it was heard. */
#define LOOK_MS 100
#define LOOK_AGAIN_MS 1000

struct pool {
    char name[NAME_MAX_CHARS + 1];
    int32_t weight;            /* of its groups, where `settings` has no word */
    struct settings *settings; /* NULL: no group has a weight of its own (owned) */
    uint32_t round;            /* of reading the bucket, in which it was seen last */
    uint32_t claims;           /* submissions that name it although it has no entry */
    bool has_entry;
    bool is_being_added; /* by us: has_entry already */
    UT_hash_handle hh;
};

struct pools {
    struct ingress *ing;
    struct pool *table;
    struct reader *reader;
    uint32_t round, removals;
    bool read, again;
    double new_credit; /* pools that may become new now, at NEW_PER_S up to NEW_BURST */
    int64_t new_ns;    /* monotonic: when that was */
    struct loop_timer look_timer;
    int looks; /* still to come */
};

static struct pool *find(const struct pools *ps, const char *name)
{
    struct pool *p;
    HASH_FIND_STR(ps->table, name, p);
    return p;
}

static void show(struct pools *ps)
{
    metric_set(ps->ing->counters.pools, pools_count(ps));
}

/* NULL: no memory. */
static struct pool *make(struct pools *ps, const char *name)
{
    struct pool *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return NULL;
    p->weight = 1;
    snprintf(p->name, sizeof(p->name), "%s", name);
    HASH_ADD_STR(ps->table, name, p);
    show(ps);
    return p;
}

static struct pool *put(struct pools *ps, const char *name)
{
    struct pool *p = find(ps, name);
    if (p == NULL)
        p = make(ps, name);
    if (p == NULL)
        return NULL;
    p->has_entry = true;
    p->round = ps->round;
    return p;
}

static void forget_unclaimed(struct pools *ps, struct pool *p)
{
    if (p->has_entry || p->claims > 0)
        return;
    HASH_DEL(ps->table, p);
    free(p->settings);
    free(p);
    show(ps);
}

/* Its entry is gone. */
static void cut(struct pools *ps, struct pool *p)
{
    ps->removals += p->has_entry;
    p->has_entry = false;
    forget_unclaimed(ps, p);
}

/* ---- the bucket */

/* Settings that dispatch would refuse as well change nothing. */
static void take_weights(struct pool *p, natsMsg *msg)
{
    struct settings *s = malloc(sizeof(*s));
    if (s == NULL || settings_parse(s, natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg),
                                    NULL) != AX_OK) {
        free(s);
        return;
    }
    free(p->settings);
    p->settings = s->group_weights.count > 0 ? s : NULL;
    p->weight = s->group_weight;
    if (p->settings == NULL)
        free(s);
}

/* NULL: the subject is that of no pool. */
static const char *name_of(const char *subject)
{
    const char *name = subject + strlen(POOLS_PREFIX);
    bool is = strncmp(subject, POOLS_PREFIX, strlen(POOLS_PREFIX)) == 0 && name_is_valid(name);
    return is ? name : NULL;
}

static void take(struct pools *ps, const char *name, natsMsg *msg)
{
    struct pool *p = find(ps, name);
    if (!pool_entry_is_removal(msg)) {
        p = put(ps, name);
        if (p != NULL)
            take_weights(p, msg);
    } else if (p != NULL) {
        cut(ps, p);
    }
}

static void on_look(void *arg)
{
    struct pools *ps = arg;
    pools_refresh(ps);
    if (--ps->looks > 0)
        loop_timer_start(ps->ing->loop, &ps->look_timer, LOOK_AGAIN_MS, on_look, ps);
}

/* Reads the bucket a moment later, and once more for a server that takes its time. */
static void look_soon(struct pools *ps)
{
    ps->looks = 2;
    loop_timer_start(ps->ing->loop, &ps->look_timer, LOOK_MS, on_look, ps);
}

/* A publish with a condition may have been refused: it tells at most that the pool has an entry. */
static void on_message(void *arg, natsMsg *msg)
{
    struct pools *ps = arg;
    const char *name = name_of(natsMsg_GetSubject(msg));
    const struct pool *p = name != NULL ? find(ps, name) : NULL;
    bool removal = pool_entry_is_removal(msg);
    if (name == NULL) {
        natsMsg_Destroy(msg);
        return;
    }
    if (p != NULL && p->is_being_added) {
        if (removal)
            look_soon(ps);
    } else if (!pool_entry_is_conditional(msg)) {
        take(ps, name, msg);
    } else {
        if (!removal)
            put(ps, name);
        look_soon(ps);
    }
    natsMsg_Destroy(msg);
}

static void on_stored(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    const char *name = name_of(subject);
    (void)seq;
    (void)time_ns;
    if (name != NULL)
        take(arg, name, msg);
}

static void on_end(void *arg, ax_err err, uint64_t last_seq)
{
    struct pools *ps = arg;
    struct pool *p, *next;
    (void)last_seq;
    ps->reader = NULL;
    if (err == AX_OK) {
        ps->read = true;
        HASH_ITER(hh, ps->table, p, next) {
            if (p->has_entry && !p->is_being_added && p->round != ps->round)
                cut(ps, p);
        }
    }
    if (ps->again || err != AX_OK) {
        ps->again = false;
        pools_refresh(ps);
    }
}

void pools_refresh(struct pools *ps)
{
    if (ps->reader != NULL) {
        ps->again = true;
        return;
    }
    ps->round++;
    struct reader_events events = {.message = on_stored, .end = on_end, .arg = ps};
    if (reader_start(&ps->reader, ps->ing->pipe, ps->ing->loop, STREAM_POOLS, POOLS_PREFIX ">", 1,
                     &events) != AX_OK)
        log_error("cannot read the pools", "stream=%s", STREAM_POOLS);
}

/* ---- new pools */

static bool may_be_new(struct pools *ps)
{
    int64_t now = loop_now_ns(ps->ing->loop);
    ps->new_credit += (double)(now - ps->new_ns) / 1e9 * NEW_PER_S;
    ps->new_credit = ps->new_credit > NEW_BURST ? NEW_BURST : ps->new_credit;
    ps->new_ns = now;
    if (ps->new_credit < 1)
        return false;
    ps->new_credit -= 1;
    return true;
}

enum pools_claim pools_claim(struct pools *ps, const char *name)
{
    struct pool *p = find(ps, name);
    if (p != NULL && p->has_entry)
        return POOLS_KNOWN;
    if (!ps->read)
        return POOLS_UNREAD;
    if (ps->ing->options->strict_pools)
        return POOLS_STRICT;
    if (p == NULL && pools_count(ps) >= ps->ing->options->max_pools)
        return POOLS_FULL;
    if (p == NULL && (!may_be_new(ps) || (p = make(ps, name)) == NULL))
        return POOLS_BUSY;
    p->claims++;
    return POOLS_CLAIMED;
}

void pools_release(struct pools *ps, const char *name)
{
    struct pool *p = find(ps, name);
    if (p == NULL || p->claims == 0)
        return;
    p->claims--;
    forget_unclaimed(ps, p);
}

static void on_added(void *arg, const char *name, ax_err err, const char *why)
{
    static struct log_gate gate;
    struct pools *ps = arg;
    struct pool *p = find(ps, name);
    char text[256];
    if (p != NULL) {
        p->is_being_added = false;
        p->round = ps->round;
    }
    if (err == AX_OK) {
        log_info("pool added", "pool=%s", name);
        return;
    }
    if (err == AX_E_EXISTS) { /* with settings that we do not know yet */
        look_soon(ps);
        return;
    }
    log_limited(&gate, loop_now_ns(ps->ing->loop), LOG_WARN,
                "pool not added, trying again with its next task", "pool=%s error=%s", name,
                log_quote(why, text, sizeof(text)));
    if (p != NULL)
        cut(ps, p);
}

void pools_add(struct pools *ps, const char *name)
{
    struct pool *p = find(ps, name);
    if (p != NULL && p->has_entry)
        return;
    p = pool_entry_add(ps->ing->pipe, name, POOL_ENTRY_DEFAULTS, on_added, ps) == AX_OK
            ? put(ps, name)
            : NULL;
    if (p != NULL) /* else its next task tries again */
        p->is_being_added = true;
}

uint32_t pools_removals(const struct pools *ps)
{
    return ps->removals;
}

/* ---- questions */

bool pools_are_read(const struct pools *ps)
{
    return ps->read;
}

bool pools_has(const struct pools *ps, const char *name)
{
    const struct pool *p = find(ps, name);
    return p != NULL && p->has_entry;
}

int64_t pools_count(const struct pools *ps)
{
    return (int64_t)HASH_COUNT(ps->table);
}

int32_t pools_weight(const struct pools *ps, const char *pool, const char *group)
{
    const struct pool *p = find(ps, pool);
    if (p == NULL || p->settings == NULL)
        return p != NULL ? p->weight : 1;
    return settings_weight(p->settings, group[0] != '\0' ? group : NULL);
}

ax_err pools_start(struct pools **out, struct ingress *ing)
{
    struct pools *ps = calloc(1, sizeof(*ps));
    if (ps == NULL)
        return AX_E_NOMEM;
    ps->ing = ing;
    ps->new_credit = NEW_BURST;
    ps->new_ns = loop_now_ns(ing->loop);
    metric_set(ing->counters.pools_limit, ing->options->max_pools);
    ax_err err = wire_subscribe(ing->wire, NULL, POOLS_PREFIX ">", NULL, on_message, ps);
    if (err != AX_OK) {
        free(ps);
        return err;
    }
    *out = ps;
    pools_refresh(ps);
    return AX_OK;
}
