#include "dispatch/lead/leadership.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "bus/pipeline_get.h"
#include "dispatch/dispatch.h"
#include "dispatch/lead/assignment.h"
#include "dispatch/pool/pool.h"
#include "task/header.h"

#define MARGIN_PARTS 10             /* a leader stops a tenth of the ttl before others may start */
#define LEAVING_MAX_NS 2000000000LL /* for what is under way to end */

static struct dispatch *dispatch_of(const struct leadership *l)
{
    return l->pool->dispatch;
}

static int64_t ttl_ns(const struct leadership *l)
{
    return dispatch_of(l)->options->lease_ttl_ms * 1000000;
}

static bool leads(const struct leadership *l)
{
    return l->state == LEADERSHIP_HELD || l->state == LEADERSHIP_LEAVING;
}

static bool is_ours(const struct leadership *l, const struct lease *x)
{
    return strcmp(x->holder, dispatch_of(l)->instance) == 0;
}

static void set_state(struct leadership *l, enum leadership_state state)
{
    l->state = state;
    assignment_changed(dispatch_of(l));
}

static void lose(struct leadership *l, const char *why)
{
    log_warn("lease lost", "pool=%s why=\"%s\" holder=%s", l->pool->name, why, l->stored.holder);
    l->known = false;
    metric_add(l->pool->count.leases_lost, 1);
    set_state(l, LEADERSHIP_NONE);
    pool_abandon(l->pool);
}

/* ---- reading ---- */

/* x was read. It has been in the bucket since we observed it, if it is the write observed last;
 * else it is known to be there only since now. */
static void note_stored(struct leadership *l, const struct lease *x, uint64_t seq, int64_t now)
{
    bool same = l->known && seq == l->seq;
    if (!same && seq != l->seq) {
        bool was_observed = strcmp(l->observed.holder, x->holder) == 0 &&
                            l->observed.renewed_ns == x->renewed_ns && l->observed_ns != 0;
        l->stands_ns = was_observed ? l->observed_ns : now;
    }
    l->stored = *x;
    l->seq = seq;
    l->known = true;
    if (!leads(l) && x->holder[0] != '\0' && !is_ours(l, x))
        l->left_ns = 0; /* one for whom it was given up has had it */
}

static void on_read(void *arg, ax_err err, const struct stored_msg *found)
{
    struct leadership *l = arg;
    struct lease x = {0};
    int64_t now = loop_now_ns(dispatch_of(l)->loop);
    l->pending = false;
    log_debug("lease read", "pool=%s found=\"%s\" seq=%" PRIu64 " known_seq=%" PRIu64,
              l->pool->name, ax_err_text(err), err == AX_OK ? found->seq : 0, l->seq);
    if (err != AX_OK && err != AX_E_NOT_FOUND)
        return; /* the next tick reads again */
    uint64_t seq = err == AX_OK ? found->seq : 0;
    if (err == AX_OK)
        clock_learn(&dispatch_of(l)->clock, found->time_ns);
    if (err == AX_OK) {
        err = lease_unpack(&x, natsMsg_GetData(found->msg),
                           (size_t)natsMsg_GetDataLength(found->msg));
    }
    if (err == AX_E_NOMEM)
        return; /* it must not be taken for free */
    if (err != AX_OK)
        x = (struct lease){0}; /* removed, or no lease (written by hand): free, at this revision */
    l->read_ns = now;
    note_stored(l, &x, seq, now);
    if (leads(l) && x.holder[0] != '\0' && !is_ours(l, &x))
        lose(l, "another has it");
    leadership_tick(l);
}

static void read_stored(struct leadership *l)
{
    char subject[SUBJECT_MAX_CHARS];
    lease_subject(subject, l->pool->name);
    int64_t wait_ms = dispatch_of(l)->options->lease_ttl_ms / LEASE_RENEWALS;
    l->pending = pipeline_get(dispatch_of(l)->pipeline, STREAM_LEASES, subject, 0, wait_ms, on_read,
                              l) == AX_OK;
}

/* ---- writing ---- */

/* Compare-and-set on the known revision. False: nothing was sent. */
static bool write_lease(struct leadership *l, const char *holder, pipeline_cb cb)
{
    struct dispatch *d = dispatch_of(l);
    char subject[SUBJECT_MAX_CHARS], reply[PIPELINE_REPLY_MAX], expected[24], ttl[24];
    uint8_t buf[LEASE_MAX_BYTES];
    natsMsg *msg = NULL;
    int64_t now_ax = clock_ax_ns(&d->clock);
    struct lease x = {.ttl_ms = d->options->lease_ttl_ms};
    if (pipeline_reserve(d->pipeline, reply) != AX_OK)
        return false;
    snprintf(x.holder, sizeof(x.holder), "%s", holder);
    snprintf(x.pool, sizeof(x.pool), "%s", l->pool->name);
    x.epoch = leads(l) ? l->sent.epoch : l->seq + 1;
    x.renewed_ns = now_ax > l->sent.renewed_ns ? now_ax : l->sent.renewed_ns + 1;
    lease_subject(subject, l->pool->name);
    snprintf(expected, sizeof(expected), "%" PRIu64, l->seq);
    snprintf(ttl, sizeof(ttl), "%" PRId64 "s", (x.ttl_ms + 999) / 1000);
    int n = (int)lease_pack(&x, buf);
    if (natsMsg_Create(&msg, subject, reply, (const char *)buf, n) == NATS_OK &&
        (header_set(msg, HDR_EXPECT_SUBJECT_SEQ, expected) != NATS_OK ||
         header_set(msg, HDR_TTL, ttl) != NATS_OK)) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    FAULT_IF(holder[0] == '\0', "lease.give-up.before");
    FAULT_IF(holder[0] != '\0' && leads(l), "lease.renew.before");
    FAULT_IF(holder[0] != '\0' && !leads(l), "lease.take.before");
    l->sent = x;
    l->sent_ns = loop_now_ns(d->loop);
    l->pending = pipeline_publish(d->pipeline, reply, msg, x.ttl_ms / LEASE_RENEWALS, cb, l) ==
                 AX_OK;
    return l->pending;
}

static void written(struct leadership *l, const struct answer *a)
{
    l->stored = l->sent;
    l->seq = a->seq;
    l->stands_ns = loop_now_ns(dispatch_of(l)->loop);
    l->known = true;
}

static int64_t until(const struct leadership *l)
{
    return l->sent_ns + ttl_ns(l) - ttl_ns(l) / MARGIN_PARTS;
}

static void on_taken(void *arg, const struct answer *a)
{
    struct leadership *l = arg;
    l->pending = false;
    l->known = false; /* refused, or no answer: the bucket has to be read */
    FAULT_IF(a->err == AX_OK, "lease.take.after");
    if (a->err == AX_OK) {
        written(l, a);
        l->until_ns = until(l);
    }
    if (l->closed)
        return; /* it runs out */
    if (a->err != AX_OK || loop_now_ns(dispatch_of(l)->loop) >= l->until_ns) {
        log_debug("lease not taken", "pool=%s err_code=%d", l->pool->name, a->err_code);
        set_state(l, LEADERSHIP_NONE);
        return;
    }
    log_info("lease taken", "pool=%s epoch=%" PRIu64, l->pool->name, l->stored.epoch);
    metric_add(l->pool->stats.m_leases_taken, 1);
    set_state(l, LEADERSHIP_HELD);
    pool_lead(l->pool);
}

static void on_renewed(void *arg, const struct answer *a)
{
    struct leadership *l = arg;
    l->pending = false;
    FAULT_IF(a->err == AX_OK, "lease.renew.after");
    if (a->err != AX_OK) {
        l->known = false; /* an earlier try may have been stored and its answer lost: read */
    } else {
        written(l, a);
        if (leads(l))
            l->until_ns = until(l);
    }
    leadership_tick(l);
}

static void on_given_up(void *arg, const struct answer *a)
{
    struct leadership *l = arg;
    l->pending = false;
    FAULT("lease.give-up.after");
    if (a->err == AX_OK)
        written(l, a);
    else
        l->known = false;
}

static void give_up(struct leadership *l)
{
    log_info("lease given up", "pool=%s", l->pool->name);
    pool_abandon(l->pool);
    write_lease(l, "", on_given_up); /* if that fails, the lease runs out */
    l->left_ns = loop_now_ns(dispatch_of(l)->loop);
    set_state(l, LEADERSHIP_NONE);
}

/* ---- deciding ---- */

bool leadership_counts(const struct leadership *l)
{
    return l->state == LEADERSHIP_HELD || l->state == LEADERSHIP_ASKING;
}

int64_t leadership_free_since(const struct leadership *l)
{
    /* Free at once: given up; or ours although we do not lead, since the answer to the write that
     * took it was lost, or it ran out. */
    if (l->stored.holder[0] == '\0' || is_ours(l, &l->stored))
        return l->stands_ns;
    return (l->stands_ns > l->observed_ns ? l->stands_ns : l->observed_ns) +
           l->stored.ttl_ms * 1000000;
}

void leadership_check(struct leadership *l, int64_t now)
{
    if (leads(l) && now >= l->until_ns)
        lose(l, "not renewed in time");
}

static void tick_held(struct leadership *l, int64_t now)
{
    if (l->pending)
        return;
    if (l->state == LEADERSHIP_LEAVING &&
        (pool_is_quiet(l->pool) || now - l->left_ns >= LEAVING_MAX_NS)) {
        if (l->known)
            give_up(l);
        else
            read_stored(l);
    } else if (!l->known) {
        read_stored(l);
    } else if (now - l->sent_ns >= ttl_ns(l) / LEASE_RENEWALS) {
        write_lease(l, dispatch_of(l)->instance, on_renewed);
    }
}

static void tick_none(struct leadership *l, int64_t now)
{
    if (l->pending)
        return;
    if (!l->known) {
        read_stored(l);
    } else if (now >= leadership_free_since(l)) {
        /* The write observed last may have been refused. What is stored decides, so the bucket has
         * to be read after that time. */
        if (l->read_ns < leadership_free_since(l))
            read_stored(l);
        else if (assignment_wants(dispatch_of(l), l, now) &&
                 write_lease(l, dispatch_of(l)->instance, on_taken))
            set_state(l, LEADERSHIP_ASKING);
    }
}

void leadership_tick(struct leadership *l)
{
    int64_t now = loop_now_ns(dispatch_of(l)->loop);
    if (l->closed)
        return;
    leadership_check(l, now);
    if (leads(l))
        tick_held(l, now);
    else if (l->state == LEADERSHIP_NONE)
        tick_none(l, now);
}

void leadership_observe(struct leadership *l, const struct lease *observed)
{
    if (is_ours(l, observed))
        return;
    int64_t now = loop_now_ns(dispatch_of(l)->loop);
    bool same_holder = strcmp(observed->holder, l->stored.holder) == 0;
    if (same_holder || l->stored.holder[0] == '\0') {
        l->observed = *observed;
        l->observed_ns = now;
    }
    /* Given up, taken, or refused: the bucket has to be read, also while we lead. */
    if (!same_holder)
        l->known = false;
    if (!l->pending)
        leadership_tick(l);
}

void leadership_leave(struct leadership *l)
{
    if (l->state != LEADERSHIP_HELD)
        return;
    l->left_ns = loop_now_ns(dispatch_of(l)->loop);
    set_state(l, LEADERSHIP_LEAVING);
    pool_rest(l->pool);
    leadership_tick(l);
}

void leadership_close(struct leadership *l)
{
    if (l->closed)
        return;
    if (leads(l) && l->known && !l->pending) {
        give_up(l);
    } else if (l->state != LEADERSHIP_NONE) { /* the lease runs out */
        bool led = leads(l);
        set_state(l, LEADERSHIP_NONE);
        if (led)
            pool_abandon(l->pool);
    }
    l->closed = true;
}

void leadership_open(struct leadership *l)
{
    l->closed = l->known = false;
    l->left_ns = 0; /* it was not given up for an even share */
}

void leadership_init(struct leadership *l, struct pool *p)
{
    memset(l, 0, sizeof(*l));
    l->pool = p;
}
