#include "ingress/queue/shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ingress/pools.h"
#include "ingress/queue/queue.h"
#include "ingress/queue/share.h"
#include "task/peer/congestion.h"

#define TICK_MS 50
#define FIRST_TICK_MS 5
#define CONTENDS_NS 10000000000LL /* after it was last refused, or let in meanwhile */
#define FRESH_NS 1000000000LL     /* a leader publishes every 100 ms */
#define PUBLISH_NS 1000000000LL   /* "still submits" */
#define WANT_FIRST 4

/* One group of one pool. */
struct unit {
    /* pool, NUL, group ("": tasks that name none), NUL */
    char key[NAME_MAX_CHARS + 1 + GROUP_MAX_BYTES + 1];
    unsigned key_bytes;
    const char *group;
    struct report *report; /* of its pool; NULL: none observed */
    uint32_t observed_in;  /* the pool's report that named it last */
    uint32_t held, added;  /* as observed last; let in by this process since */
    uint32_t unpublished;  /* refusals here that are not published yet */
    bool submits;          /* was let in while it contends, which is not published yet */
    uint32_t refused;      /* by all instances, since the shares were computed last */
    /* how many more it would like to hold, by how often it was refused lately */
    double want;
    /* monotonic: want last changed; contends until; published last */
    int64_t want_ns, until_ns, published_ns;
    double share;
    UT_hash_handle hh;
};

/* What the leader of a pool has published. */
struct report {
    char pool[NAME_MAX_CHARS + 1];
    uint32_t number;
    uint64_t others; /* tasks of groups that it did not name */
    int64_t observed_ns;
    UT_hash_handle hh;
};

struct shares {
    struct unit *units;
    struct report *reports;
    struct loop_timer tick;
};

static void on_tick(void *arg);

static int64_t now_ns(const struct queue *q)
{
    return loop_now_ns(q->ing->loop);
}

static bool is_shared(const struct queue *q)
{
    return q->p.group_share > 0 && q->p.max_msgs > 0 && !q->p.spill;
}

static bool is_fresh(const struct unit *u, int64_t now)
{
    return u->report != NULL && now - u->report->observed_ns < FRESH_NS;
}

/* Tasks that name no group contend only beside groups of their own pool. */
static bool contends(const struct unit *u, int64_t now)
{
    return u->until_ns > now && (u->group[0] != '\0' || is_fresh(u, now));
}

static double held_by(const struct unit *u, int64_t now)
{
    return is_fresh(u, now) ? (double)u->held + u->added : 0;
}

static unsigned make_key(char *key, const char *pool, const char *group)
{
    memset(key, 0, sizeof((struct unit *)0)->key);
    size_t n = strlen(pool) + 1, m = strlen(group) + 1;
    memcpy(key, pool, n);
    memcpy(key + n, group, m);
    return (unsigned)(n + m);
}

static struct unit *find(const struct shares *s, const char *pool, const char *group)
{
    char key[sizeof((struct unit *)0)->key];
    unsigned bytes = make_key(key, pool, group);
    struct unit *u = NULL;
    HASH_FIND(hh, s->units, key, bytes, u);
    return u;
}

static struct unit *put(struct shares *s, const char *pool, const char *group)
{
    struct unit *u = find(s, pool, group);
    if (u != NULL || (u = calloc(1, sizeof(*u))) == NULL)
        return u;
    u->key_bytes = make_key(u->key, pool, group);
    u->group = u->key + strlen(pool) + 1;
    u->share = INFINITY;
    HASH_FIND_STR(s->reports, u->key, u->report);
    HASH_ADD_KEYPTR(hh, s->units, u->key, u->key_bytes, u);
    return u;
}

static void wake(struct queue *q)
{
    if (!loop_timer_is_running(&q->shares->tick))
        loop_timer_start(q->ing->loop, &q->shares->tick, FIRST_TICK_MS, on_tick, q);
}

static bool make(struct queue *q)
{
    if (q->shares == NULL)
        q->shares = calloc(1, sizeof(*q->shares));
    return q->shares != NULL;
}

/* ---- refusals, as all instances observe them */

static void publish_refused(struct queue *q, struct unit *u, int64_t now)
{
    uint8_t buf[CONGESTION_REFUSAL_MAX_BYTES];
    char subject[SUBJECT_MAX_CHARS];
    struct congestion_refusal r = {.count = u->unpublished};
    snprintf(r.group, sizeof(r.group), "%s", u->group);
    snprintf(subject, sizeof(subject), CONGESTION_REFUSED_PREFIX "%s.%s", q->p.name, u->key);
    wire_publish(q->ing->wire, subject, buf, congestion_pack_refusal(&r, buf));
    u->unpublished = 0;
    u->submits = false;
    u->published_ns = now;
}

static void on_refused(void *arg, natsMsg *msg)
{
    struct ingress *ing = arg;
    char priority[NAME_MAX_CHARS + 1], pool[NAME_MAX_CHARS + 1];
    struct congestion_refusal r;
    if (congestion_parse_subject(natsMsg_GetSubject(msg), CONGESTION_REFUSED_PREFIX, priority,
                                 pool) &&
        congestion_unpack_refusal(&r, natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg)) ==
            AX_OK) {
        struct queue *q = queue_find(ing, priority);
        struct unit *u = q != NULL && is_shared(q) && make(q) ? put(q->shares, pool, r.group)
                                                              : NULL;
        if (u != NULL) {
            if (r.count > 0 || u->until_ns > now_ns(q))
                u->until_ns = now_ns(q) + CONTENDS_NS;
            u->refused = r.count > UINT32_MAX - u->refused ? UINT32_MAX : u->refused + r.count;
            wake(q);
        }
    }
    natsMsg_Destroy(msg);
}

/* ---- occupancy, as the leaders publish it */

static void take_report(struct queue *q, const char *pool, const struct congestion_occupancy *h)
{
    struct shares *s = q->shares;
    struct report *r = NULL;
    struct unit *u, *next;
    HASH_FIND_STR(s->reports, pool, r);
    if (r == NULL) {
        r = calloc(1, sizeof(*r));
        if (r == NULL)
            return;
        snprintf(r->pool, sizeof(r->pool), "%s", pool);
        HASH_ADD_STR(s->reports, pool, r);
        HASH_ITER(hh, s->units, u, next) {
            if (strcmp(u->key, pool) == 0)
                u->report = r;
        }
    }
    r->number++;
    r->others = h->others;
    r->observed_ns = now_ns(q);
    for (size_t i = 0; i < h->count; i++) {
        u = put(s, pool, h->groups[i].group);
        if (u == NULL)
            continue;
        u->observed_in = r->number;
        u->held = h->groups[i].tasks;
        u->added = 0;
    }
    HASH_ITER(hh, s->units, u, next) {
        if (u->report == r && u->observed_in != r->number)
            u->held = u->added = 0;
    }
}

static void on_held(void *arg, natsMsg *msg)
{
    struct ingress *ing = arg;
    char priority[NAME_MAX_CHARS + 1], pool[NAME_MAX_CHARS + 1];
    struct congestion_occupancy h;
    if (congestion_parse_subject(natsMsg_GetSubject(msg), CONGESTION_OCCUPANCY_PREFIX, priority,
                                 pool)) {
        struct queue *q = queue_find(ing, priority);
        /* Of interest only while somebody contends. */
        if (q != NULL && q->shares != NULL && loop_timer_is_running(&q->shares->tick) &&
            congestion_unpack_occupancy(&h, natsMsg_GetData(msg),
                                        (size_t)natsMsg_GetDataLength(msg)) == AX_OK) {
            take_report(q, pool, &h);
            congestion_clear_occupancy(&h);
        }
    }
    natsMsg_Destroy(msg);
}

/* ---- computing the shares */

static void update_want(struct unit *u, int64_t now)
{
    if (u->until_ns <= now) {
        u->want = 0;
    } else if (u->refused > 0) {
        u->want = u->want * 2 > u->refused ? u->want * 2 : u->refused;
        u->want = u->want < WANT_FIRST ? WANT_FIRST : u->want > 1e9 ? 1e9 : u->want;
        u->want_ns = now;
    } else if (now - u->want_ns >= CONTENDS_NS) {
        u->want = u->want / 2 < WANT_FIRST ? WANT_FIRST : u->want / 2;
        u->want_ns = now;
    }
    u->refused = 0;
}

static void compute_shares(struct queue *q, int64_t now)
{
    struct shares *s = q->shares;
    struct unit *u, *next;
    struct report *r, *another;
    struct unit *only = NULL;
    size_t n = 0, contenders = 0;
    double bound = (double)q->p.max_msgs * q->p.group_share, level = INFINITY;
    if (queue_room_is_shared(q)) /* its groups share what their pool may have */
        bound *= q->p.pool_share;
    struct share *list = calloc(HASH_COUNT(s->units) + 1, sizeof(*list));
    HASH_ITER(hh, s->reports, r, another) {
        if (now - r->observed_ns < FRESH_NS)
            bound -= (double)r->others;
    }
    HASH_ITER(hh, s->units, u, next) {
        update_want(u, now);
        if (contends(u, now)) {
            contenders++;
            only = u;
        }
        double would = held_by(u, now) + (contends(u, now) ? u->want : 0);
        if (list != NULL && would > 0)
            list[n++] = (struct share){would, pools_weight(q->ing->pools, u->key, u->group)};
    }
    if (list != NULL && contenders > 0)
        level = share_level(list, n, bound);
    free(list);
    HASH_ITER(hh, s->units, u, next) {
        bool alone = contenders == 1 && only == u;
        u->share = is_fresh(u, now) && !alone
                       ? level * pools_weight(q->ing->pools, u->key, u->group)
                       : INFINITY;
    }
}

static void forget(struct queue *q)
{
    struct shares *s = q->shares;
    struct unit *u, *next;
    struct report *r, *another;
    HASH_ITER(hh, s->units, u, next) {
        HASH_DEL(s->units, u);
        free(u);
    }
    HASH_ITER(hh, s->reports, r, another) {
        HASH_DEL(s->reports, r);
        free(r);
    }
}

static void on_tick(void *arg)
{
    struct queue *q = arg;
    struct shares *s = q->shares;
    struct unit *u, *next;
    int64_t now = now_ns(q);
    bool any = false;
    HASH_ITER(hh, s->units, u, next) {
        if (u->unpublished > 0 || (u->submits && now - u->published_ns >= PUBLISH_NS))
            publish_refused(q, u, now);
        any = any || u->until_ns > now;
        if (u->until_ns <= now && held_by(u, now) == 0) {
            HASH_DEL(s->units, u);
            free(u);
        }
    }
    if (!any || !is_shared(q)) {
        forget(q);
        return;
    }
    compute_shares(q, now);
    loop_timer_start(q->ing->loop, &s->tick, TICK_MS, on_tick, q);
}

/* ---- submissions */

bool shares_allow(struct queue *q, const char *pool, const char *group, struct over_quota *e)
{
    struct shares *s = q->shares;
    if (s == NULL || s->units == NULL)
        return true;
    struct unit *u = find(s, pool, group != NULL ? group : "");
    if (u == NULL)
        return true;
    int64_t now = now_ns(q);
    double held = held_by(u, now);
    if (held >= 1 && held >= u->share) {
        *e = (struct over_quota){.held = (int64_t)held,
                                 .share = (int64_t)(u->share < 1 ? 1 : u->share)};
        u->unpublished++;
        return false;
    }
    u->added++;
    if (u->until_ns > now) {
        u->until_ns = now + CONTENDS_NS;
        u->submits = true;
    }
    return true;
}

bool shares_refused(struct queue *q, const char *pool, const char *group, bool was_counted)
{
    if (!is_shared(q) || !make(q))
        return false;
    int64_t now = now_ns(q);
    struct unit *u = group != NULL ? put(q->shares, pool, group) : find(q->shares, pool, "");
    if (u == NULL)
        return false;
    if (was_counted && u->added > 0)
        u->added--;
    u->until_ns = now + CONTENDS_NS;
    u->unpublished++;
    if (now - u->published_ns >= TICK_MS * 1000000LL || u->published_ns == 0)
        publish_refused(q, u, now);
    wake(q);
    return u->share == INFINITY || held_by(u, now) < u->share;
}

ax_err shares_start(struct ingress *ing)
{
    ax_err err = wire_subscribe(ing->wire, NULL, CONGESTION_REFUSED_PREFIX "*.*", NULL, on_refused,
                                ing);
    return err != AX_OK ? err
                        : wire_subscribe(ing->wire, NULL, CONGESTION_OCCUPANCY_PREFIX "*.*", NULL,
                                         on_held, ing);
}
