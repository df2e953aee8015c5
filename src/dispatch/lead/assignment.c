#include "dispatch/lead/assignment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bus/reader.h"
#include "dispatch/dispatch.h"
#include "dispatch/lead/catch_up.h"
#include "dispatch/pool/pool.h"
#include "task/header.h"
#include "task/peer/presence.h"

#define TICKS_PER_TTL 20

int assignment_cap(int pools, int members)
{
    return (pools + members - 1) / members;
}

int assignment_floor(int pools, int members)
{
    return pools / members;
}

static int64_t ttl_ns(const struct dispatch *d)
{
    return d->options->lease_ttl_ms * 1000000;
}

int assignment_others(const struct dispatch *d)
{
    return (int)HASH_COUNT(d->assignment.others);
}

static int count_pools(const struct dispatch *d)
{
    int n = 0;
    for (const struct pool *p = d->table.pools; p != NULL; p = p->next)
        n++;
    return n;
}

static int count_led(const struct dispatch *d)
{
    int n = 0;
    for (const struct pool *p = d->table.pools; p != NULL; p = p->next)
        n += leadership_counts(&p->leadership);
    return n;
}

/* ---- which dispatchers exist ---- */

static void forget(struct dispatch *d, struct member *m, const char *why)
{
    log_info("dispatcher gone", "name=%s why=\"%s\"", m->presence.name, why);
    HASH_DEL(d->assignment.others, m);
    free(m);
    d->assignment.changed_ns = loop_now_ns(d->loop);
}

static void on_presence(struct dispatch *d, const struct presence *x, bool live)
{
    struct member *m = NULL;
    int64_t now = loop_now_ns(d->loop);
    if (strcmp(x->name, d->instance) == 0)
        return;
    HASH_FIND(hh, d->assignment.others, x->name, strlen(x->name), m);
    if (x->leaving) {
        if (m != NULL)
            forget(d, m, "stopped");
        return;
    }
    if (m == NULL) {
        m = calloc(1, sizeof(*m));
        if (m == NULL)
            return; /* without it the shares are less even */
        m->presence = *x;
        HASH_ADD(hh, d->assignment.others, presence.name, strlen(m->presence.name), m);
        log_info("dispatcher there", "name=%s leads=%u", x->name, x->leads);
        d->assignment.changed_ns = now;
    }
    m->presence = *x;
    m->observed_ns = now;
    m->live = m->live || live;
}

bool assignment_is_live(const struct dispatch *d, const char *name)
{
    const struct member *m = NULL;
    HASH_FIND(hh, d->assignment.others, name, strlen(name), m);
    return m != NULL && m->live;
}

static void expire(struct dispatch *d, int64_t now)
{
    struct member *m, *tmp;
    HASH_ITER(hh, d->assignment.others, m, tmp) {
        if (now - m->observed_ns >= m->presence.ttl_ms * 1000000)
            forget(d, m, "silent");
    }
}

static void announce(void *arg)
{
    struct dispatch *d = arg;
    struct presence x = {.leads = (uint32_t)count_led(d),
                         .ttl_ms = d->options->lease_ttl_ms,
                         .leaving = d->assignment.leaving};
    char subject[SUBJECT_MAX_CHARS], ttl[24];
    uint8_t buf[LEASE_MAX_BYTES];
    natsMsg *msg = NULL;
    snprintf(x.name, sizeof(x.name), "%s", d->instance);
    presence_subject(subject, d->instance);
    snprintf(ttl, sizeof(ttl), "%" PRId64 "s", (x.ttl_ms + 999) / 1000);
    if (natsMsg_Create(&msg, subject, NULL, (const char *)buf, (int)presence_pack(&x, buf)) ==
            NATS_OK &&
        header_set(msg, HDR_TTL, ttl) == NATS_OK)
        wire_publish_msg(d->wire, msg); /* a hint: the next announcement makes up for a lost one */
    natsMsg_Destroy(msg);
    d->assignment.published_ns = loop_now_ns(d->loop);
}

void assignment_changed(struct dispatch *d)
{
    if (d->assignment.started)
        loop_do_later(d->loop, &d->assignment.announce, announce, d);
}

static void log_unreadable(struct dispatch *d, const char *subject)
{
    static struct log_gate gate;
    char buf[160];
    log_limited(&gate, loop_now_ns(d->loop), LOG_WARN,
                "neither a lease nor a dispatcher's presence, left out", "subject=%s",
                log_quote(subject, buf, sizeof(buf)));
}

static void take_in(struct dispatch *d, const char *subject, natsMsg *msg, bool live)
{
    const char *data = natsMsg_GetData(msg);
    size_t bytes = (size_t)natsMsg_GetDataLength(msg);
    struct presence x;
    struct lease lease = {0};
    ax_err err = AX_OK;
    if (strncmp(subject, DISPATCHERS_PREFIX, strlen(DISPATCHERS_PREFIX)) == 0) {
        err = presence_unpack(&x, data, bytes);
        if (err == AX_OK)
            on_presence(d, &x, live);
    } else {
        struct pool *p = dispatch_pool(d, subject + strlen(LEASES_PREFIX));
        if (p != NULL)
            err = lease_unpack(&lease, data, bytes);
        /* A message that is no lease (removed by hand) counts as one that nobody holds, so that the
         * bucket is read. */
        if (p != NULL && (err == AX_OK || bytes == 0))
            leadership_observe(&p->leadership, &lease);
    }
    if (err == AX_E_PROTOCOL)
        log_unreadable(d, subject);
}

void assignment_observe(struct dispatch *d, const char *subject, natsMsg *msg)
{
    take_in(d, subject, msg, true);
}

/* ---- taking and giving up pools ---- */

static bool is_short_of(const struct dispatch *d, int floor)
{
    const struct member *m, *tmp;
    HASH_ITER(hh, d->assignment.others, m, tmp) {
        if ((int)m->presence.leads < floor)
            return true;
    }
    return false;
}

bool assignment_wants(struct dispatch *d, const struct leadership *l, int64_t now)
{
    int members = assignment_others(d) + 1;
    if (d->assignment.leaving || !d->assignment.started)
        return false;
    int pools = count_pools(d), led = count_led(d);
    /* we have given it up for an even share: others go first, if there are any */
    bool just_left = members > 1 && l->left_ns != 0 && now - l->left_ns < ttl_ns(d);
    if (!just_left && led < assignment_floor(pools, members))
        return true;
    if (!just_left && led < assignment_cap(pools, members) &&
        !is_short_of(d, assignment_floor(pools, members)))
        return true;
    /* The dispatchers that should take it do not: an uneven share is better than a pool without a
     * leader. */
    return now - leadership_free_since(l) >= ttl_ns(d);
}

/* Gives up one pool at a time, the one with the fewest tasks in flight, and none while dispatchers
 * come and go. */
static void rebalance(struct dispatch *d, int64_t now)
{
    int members = assignment_others(d) + 1, pools = count_pools(d), led = count_led(d);
    int64_t calm_ns = ttl_ns(d) / LEASE_RENEWALS;
    struct pool *least = NULL;
    if (members == 1 || now - d->assignment.changed_ns < calm_ns ||
        now - d->assignment.released_ns < calm_ns / 4)
        return;
    if (led <= assignment_cap(pools, members) &&
        (led <= assignment_floor(pools, members) ||
         !is_short_of(d, assignment_floor(pools, members))))
        return;
    for (struct pool *p = d->table.pools; p != NULL; p = p->next) {
        if (p->leadership.state == LEADERSHIP_HELD &&
            (least == NULL || p->flow.inflight < least->flow.inflight))
            least = p;
    }
    if (least == NULL)
        return;
    log_info("pool given up for an even share", "pool=%s led=%d pools=%d dispatchers=%d",
             least->name, led, pools, members);
    d->assignment.released_ns = now;
    leadership_leave(&least->leadership);
}

static void on_timer(void *arg)
{
    struct dispatch *d = arg;
    int64_t now = loop_now_ns(d->loop);
    expire(d, now);
    for (struct pool *p = d->table.pools; p != NULL; p = p->next)
        leadership_tick(&p->leadership);
    if (!d->assignment.leaving) {
        rebalance(d, now);
        if (now - d->assignment.published_ns >= ttl_ns(d) / LEASE_RENEWALS)
            announce(d);
        catch_up_tick(d, now, assignment_others(d) > 0);
    }
    loop_timer_start_ns(d->loop, &d->assignment.timer, ttl_ns(d) / TICKS_PER_TTL, on_timer, d);
}

void assignment_kick(struct dispatch *d)
{
    if (d->assignment.started)
        loop_timer_start(d->loop, &d->assignment.timer, 0, on_timer, d);
}

/* ---- life ---- */

static void on_stored(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg)
{
    (void)seq;
    struct dispatch *d = arg;
    clock_learn(&d->clock, time_ns);
    if (strncmp(subject, DISPATCHERS_PREFIX, strlen(DISPATCHERS_PREFIX)) == 0)
        take_in(d, subject, msg, false);
}

static void on_stored_end(void *arg, ax_err err, uint64_t last_seq)
{
    (void)err; /* every other dispatcher announces itself again soon */
    (void)last_seq;
    struct dispatch *d = arg;
    d->assignment.started = true;
    announce(d);
    assignment_kick(d);
}

void assignment_start(struct dispatch *d)
{
    struct reader_events events = {on_stored, on_stored_end, d};
    if (reader_start(NULL, d->pipeline, d->loop, STREAM_LEASES, ">", 1, &events) != AX_OK)
        on_stored_end(d, AX_E_NOMEM, 0);
}

void assignment_leave(struct dispatch *d)
{
    d->assignment.leaving = true;
    for (struct pool *p = d->table.pools; p != NULL; p = p->next)
        leadership_leave(&p->leadership);
    announce(d);
}

bool assignment_has_left(const struct dispatch *d)
{
    for (const struct pool *p = d->table.pools; p != NULL; p = p->next) {
        if (p->leadership.state != LEADERSHIP_NONE || p->leadership.pending)
            return false;
    }
    return true;
}
