#include "ingress/pools.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"
#include "bus/pipeline_get.h"
#include "bus/reader.h"
#include "bus/wire.h"
#include "task/header.h"
#include "task/names.h"
#include "task/settings.h"

#define GET_WAIT_MS 3000

struct pool {
    char name[NAME_MAX_CHARS + 1];
    int32_t weight;            /* of its groups, where `settings` has no word */
    struct settings *settings; /* NULL: no group has a weight of its own (owned) */
    uint32_t round;            /* of reading the bucket, in which it was seen last */
    UT_hash_handle hh;
};

struct pools {
    struct wire *wire;
    struct pipeline *pipe;
    struct loop *loop;
    struct pool *table;
    struct reader *reader;
    uint32_t round;
    bool read, again;
};

/* One entry being added. */
struct addition {
    struct pools *pools;
    char name[NAME_MAX_CHARS + 1];
};

static struct pool *find(const struct pools *ps, const char *name)
{
    struct pool *p;
    HASH_FIND_STR(ps->table, name, p);
    return p;
}

static struct pool *put(struct pools *ps, const char *name)
{
    struct pool *p = find(ps, name);
    if (p == NULL) {
        p = calloc(1, sizeof(*p));
        if (p == NULL)
            return NULL;
        p->weight = 1;
        snprintf(p->name, sizeof(p->name), "%s", name);
        HASH_ADD_STR(ps->table, name, p);
    }
    p->round = ps->round;
    return p;
}

static void cut(struct pools *ps, struct pool *p)
{
    HASH_DEL(ps->table, p);
    free(p->settings);
    free(p);
}

static bool is_removal(natsMsg *msg)
{
    const char *v = NULL;
    if (natsMsgHeader_Get(msg, "KV-Operation", &v) == NATS_OK && v != NULL && strcmp(v, "PUT") != 0)
        return true;
    return natsMsgHeader_Get(msg, "Nats-Marker-Reason", &v) == NATS_OK;
}

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

static void take(struct pools *ps, const char *subject, natsMsg *msg)
{
    const char *name = subject + strlen(POOLS_PREFIX);
    if (strncmp(subject, POOLS_PREFIX, strlen(POOLS_PREFIX)) != 0 || !name_is_valid(name))
        return;
    struct pool *p = find(ps, name);
    if (!is_removal(msg)) {
        p = put(ps, name);
        if (p != NULL)
            take_weights(p, msg);
    } else if (p != NULL) {
        cut(ps, p);
    }
}

static void on_message(void *arg, natsMsg *msg)
{
    struct pools *ps = arg;
    take(ps, natsMsg_GetSubject(msg), msg);
    natsMsg_Destroy(msg);
}

static void on_stored(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    (void)seq;
    (void)time_ns;
    take(arg, subject, msg);
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
            if (p->round != ps->round)
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
    if (reader_start(&ps->reader, ps->pipe, ps->loop, STREAM_POOLS, POOLS_PREFIX ">", 1, &events) !=
        AX_OK)
        log_error("cannot read the pools", "stream=%s", STREAM_POOLS);
}

bool pools_are_read(const struct pools *ps)
{
    return ps->read;
}

bool pools_has(const struct pools *ps, const char *name)
{
    return find(ps, name) != NULL;
}

int32_t pools_weight(const struct pools *ps, const char *pool, const char *group)
{
    const struct pool *p = find(ps, pool);
    if (p == NULL || p->settings == NULL)
        return p != NULL ? p->weight : 1;
    return settings_weight(p->settings, group[0] != '\0' ? group : NULL);
}

static ax_err publish(struct addition *a, uint64_t expected);

static void on_marker(void *arg, ax_err err, const struct stored_msg *found)
{
    struct addition *a = arg;
    /* A removed entry leaves a marker, which the new one has to follow; anything else there is an
     * entry by now. */
    if (err == AX_OK && is_removal(found->msg) && publish(a, found->seq) == AX_OK)
        return;
    if (err == AX_E_NOT_FOUND && publish(a, 0) == AX_OK)
        return;
    free(a);
}

static void on_published(void *arg, const struct answer *a)
{
    struct addition *add = arg;
    char subject[SUBJECT_MAX_CHARS];
    FAULT("pool.add.after");
    if (a->err == AX_OK)
        log_info("pool added", "pool=%s", add->name);
    snprintf(subject, sizeof(subject), "%s%s", POOLS_PREFIX, add->name);
    if (a->err == AX_E_SERVER && a->err_code == JSERR_WRONG_LAST_SEQ &&
        pipeline_get(add->pools->pipe, STREAM_POOLS, subject, 0, GET_WAIT_MS, on_marker, add) ==
            AX_OK)
        return;
    if (a->err != AX_OK && a->err_code != JSERR_WRONG_LAST_SEQ) {
        char text[256];
        struct pool *p = find(add->pools, add->name);
        log_warn("pool not added, trying again with its next task", "pool=%s error=%s", add->name,
                 log_quote(a->err == AX_E_SERVER ? a->description : ax_err_text(a->err), text,
                           sizeof(text)));
        if (p != NULL)
            cut(add->pools, p);
    }
    free(add);
}

static ax_err publish(struct addition *a, uint64_t expected)
{
    char reply[PIPELINE_REPLY_MAX], subject[SUBJECT_MAX_CHARS], seq[24];
    natsMsg *msg = NULL;
    snprintf(subject, sizeof(subject), "%s%s", POOLS_PREFIX, a->name);
    snprintf(seq, sizeof(seq), "%" PRIu64, expected);
    ax_err err = pipeline_reserve(a->pools->pipe, reply);
    if (err != AX_OK)
        return err;
    natsStatus s = natsMsg_Create(&msg, subject, reply, "{}", 2);
    if (s == NATS_OK)
        s = header_set(msg, HDR_EXPECT_SUBJECT_SEQ, seq);
    FAULT("pool.add.before");
    if (s == NATS_OK)
        return pipeline_publish(a->pools->pipe, reply, msg, 0, on_published, a);
    natsMsg_Destroy(msg);
    pipeline_cancel(a->pools->pipe, reply);
    return AX_E_NOMEM;
}

void pools_add(struct pools *ps, const char *name)
{
    struct addition *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return;
    a->pools = ps;
    snprintf(a->name, sizeof(a->name), "%s", name);
    if (publish(a, 0) == AX_OK)
        put(ps, name);
    else
        free(a); /* the pool's next task tries again */
}

ax_err pools_start(struct pools **out, struct wire *wire, struct pipeline *p, struct loop *l)
{
    struct pools *ps = calloc(1, sizeof(*ps));
    if (ps == NULL)
        return AX_E_NOMEM;
    ps->wire = wire;
    ps->pipe = p;
    ps->loop = l;
    ax_err err = wire_subscribe(wire, NULL, POOLS_PREFIX ">", NULL, on_message, ps);
    if (err != AX_OK) {
        free(ps);
        return err;
    }
    *out = ps;
    pools_refresh(ps);
    return AX_OK;
}
