#include "dispatch/attempt/acks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "dispatch/attempt/record_writer.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "dispatch/pool/pump.h"
#include "task/peer/unrecorded.h"

#define PENDING_MAX 8192
/* Less than the shortest window: what was done longer ago may be wanted again. */
#define UNRECORDED_KEEP_NS 50000000000LL

static void keep_pending(struct pool *p, uint64_t w, const struct ack_payload *a)
{
    if (a->kind == ACK_PROGRESS || a->kind == ACK_UNKNOWN)
        return;
    struct pending_ack *e = NULL;
    HASH_FIND(hh, p->acks.pending, &w, sizeof(w), e);
    if (e == NULL) {
        if (HASH_COUNT(p->acks.pending) >= PENDING_MAX) { /* hints may be lost: the oldest goes */
            struct pending_ack *oldest = p->acks.pending;
            HASH_DEL(p->acks.pending, oldest);
            free(oldest);
        }
        e = calloc(1, sizeof(*e));
        if (e == NULL)
            return;
        e->work_seq = w;
        HASH_ADD(hh, p->acks.pending, work_seq, sizeof(e->work_seq), e);
    }
    e->payload = *a;
    e->payload.next = NULL;
}

/* ---- acks that are not recorded yet */

static void remember_unrecorded(struct pool *p, const char *id, uint32_t attempt, uint64_t fence)
{
    struct unrecorded_ack *u = NULL;
    HASH_FIND_STR(p->acks.unrecorded, id, u);
    if (u == NULL) {
        if (HASH_COUNT(p->acks.unrecorded) >= SUPERSEDED_MAX) {
            struct unrecorded_ack *oldest = p->acks.unrecorded;
            HASH_DEL(p->acks.unrecorded, oldest);
            free(oldest);
        }
        u = calloc(1, sizeof(*u));
        if (u == NULL)
            return; /* the record alone will tell */
        snprintf(u->id, sizeof(u->id), "%s", id);
        HASH_ADD_STR(p->acks.unrecorded, id, u);
    }
    u->attempt = attempt;
    u->work_seq = fence;
    u->heard_ns = loop_now_ns(p->dispatch->loop);
}

const struct unrecorded_ack *acks_find_unrecorded(const struct pool *p, const char *id)
{
    struct unrecorded_ack *u = NULL;
    HASH_FIND_STR(p->acks.unrecorded, id, u);
    bool fresh = u != NULL && loop_now_ns(p->dispatch->loop) - u->heard_ns < UNRECORDED_KEEP_NS;
    return fresh ? u : NULL;
}

bool acks_news_of_unrecorded(const struct attempt *a, struct attempt_news *news)
{
    const struct unrecorded_ack *u = acks_find_unrecorded(a->pool, a->task.id);
    if (u == NULL)
        return false;
    news->end = END_DONE;
    news->attempt = u->attempt;
    news->fence = u->work_seq;
    return true;
}

/* ---- rule 5: acks of superseded attempts ---- */

static void on_honoured(void *arg, const struct answer *answer)
{
    struct pool *p = arg;
    FAULT("late.record.after");
    if (answer->err == AX_OK)
        metric_add(p->count.superseded_acks, 1);
}

/* An ack of a superseded attempt is honoured: it is recorded, and the retry is dropped before its
 * start. */
static void honour(struct pool *p, const struct superseded_ack *s)
{
    struct dispatch *d = p->dispatch;
    pool_stats_observe_superseded(p, s);
    /* First: the retry may be about to start. */
    filter_add(d->done.filter, s->id, strlen(s->id), clock_ax_ns(&d->clock));
    remember_unrecorded(p, s->id, s->attempt, s->work_seq);
    FAULT("late.record.before");
    record_writer_write(p, RECORD_DONE, s->id, s->attempt, s->work_seq, on_honoured, p);
    log_info("late ack honoured", "task=%s pool=%s fence=%" PRIu64, s->id, p->name, s->work_seq);
}

static bool honour_superseded(struct pool *p, uint64_t work_seq, const struct ack_payload *ack)
{
    struct superseded_ack *s = NULL;
    HASH_FIND(hh, p->acks.superseded, &work_seq, sizeof(work_seq), s);
    if (s == NULL)
        return false;
    if (ack->kind == ACK_ACK || ack->kind == ACK_NEXT) {
        honour(p, s);
        HASH_DEL(p->acks.superseded, s);
        free(s);
    }
    return true;
}

static struct superseded_ack superseded(const struct attempt *a)
{
    struct superseded_ack s = {.work_seq = a->hand_off.seq,
                               .attempt = a->task.attempt,
                               .handed_ns = a->hand_off.at_ns,
                               .heard_ns = a->hand_off.heard_ns};
    snprintf(s.id, sizeof(s.id), "%s", a->task.id);
    return s;
}

void acks_honour_ending(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    struct superseded_ack s = superseded(a);
    a->end.done_late = true;
    honour(a->pool, &s);
}

void acks_supersede(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    struct pool *p = a->pool;
    struct superseded_ack *s = NULL, now = superseded(a);
    HASH_FIND(hh, p->acks.superseded, &now.work_seq, sizeof(now.work_seq), s);
    if (s != NULL || now.work_seq == 0)
        return;
    if (HASH_COUNT(p->acks.superseded) >= SUPERSEDED_MAX) {
        struct superseded_ack *oldest = p->acks.superseded;
        HASH_DEL(p->acks.superseded, oldest);
        free(oldest);
    }
    s = malloc(sizeof(*s));
    if (s == NULL)
        return; /* one more ack unheard */
    *s = now;
    HASH_ADD(hh, p->acks.superseded, work_seq, sizeof(s->work_seq), s);
}

/* ---- acks on their way to their attempts ---- */

static enum attempt_event event_of(enum ack_kind kind)
{
    switch (kind) {
    case ACK_NAK:
        return ATTEMPT_ON_NAK;
    case ACK_TERM:
        return ATTEMPT_ON_TERM;
    case ACK_PROGRESS:
        return ATTEMPT_ON_PROGRESS;
    default:
        return ATTEMPT_ON_ACK;
    }
}

static void receive(struct attempt *a, const struct ack_payload *ack)
{
    char why[300];
    struct attempt_news news = {.delay_ms = -1, .ack = ack};
    if (ack->kind == ACK_UNKNOWN)
        return;
    if (a->state == ATTEMPT_RUNNING) {
        pool_stats_observe_ack(a, ack->kind);
        adapt_observe_ack(&a->pool->adapt, ack->kind, a->hand_off.at_ns,
                          loop_now_ns(a->pool->dispatch->loop));
    }
    if (ack->kind == ACK_NAK) {
        news.end = END_FAILED;
        news.dead = DEAD_FAILED;
        news.reason = "nak";
        news.delay_ms = ack->delay_ms;
        news.count = a->pool->count.naks;
    } else if (ack->kind == ACK_TERM) {
        snprintf(why, sizeof(why), "terminated%s%s", ack->reason[0] != '\0' ? ": " : "",
                 ack->reason);
        news.end = END_BURIED;
        news.dead = DEAD_TERMINATED;
        news.reason = why;
    } else if (ack->kind == ACK_PROGRESS && a->state == ATTEMPT_RUNNING) {
        a->hand_off.active_ns = loop_now_ns(a->pool->dispatch->loop);
    }
    attempt_on(a, event_of(ack->kind), &news);
}

/* Nobody leads the pool here. Where this dispatcher handed the task out it knows whose ack this is:
 * recorded, for the next leader. Else the ack is kept: this dispatcher may lead next, and find the
 * hand-off still in AX_WORK (in a cluster it goes a while after its ack). */
static void overhear(struct pool *p, uint64_t work_seq, const struct ack_payload *ack)
{
    if (!honour_superseded(p, work_seq, ack))
        keep_pending(p, work_seq, ack);
}

void acks_on_ack(struct pool *p, uint64_t work_seq, int64_t stored_ns,
                 const struct ack_payload *ack)
{
    if (stored_ns < p->dispatch->work_epoch_ns)
        return; /* a worker still had it from an AX_WORK that was deleted */
    struct attempt *a = p->lead.led ? attempt_of_work(p, work_seq) : NULL;
    if (a != NULL)
        receive(a, ack);
    else
        overhear(p, work_seq, ack);
    if (p->lead.led)
        pump_soon(p);
}

static struct pending_ack *find_pending(const struct attempt *a)
{
    struct pending_ack *e = NULL;
    HASH_FIND(hh, a->pool->acks.pending, &a->hand_off.seq, sizeof(a->hand_off.seq), e);
    return e;
}

bool acks_are_pending(const struct attempt *a)
{
    return find_pending(a) != NULL;
}

void acks_keep_pending(struct attempt *a, const struct attempt_news *news)
{
    keep_pending(a->pool, a->hand_off.seq, news->ack);
}

void acks_take_pending(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    struct pending_ack *e = find_pending(a);
    if (e == NULL)
        return;
    HASH_DEL(a->pool->acks.pending, e);
    receive(a, &e->payload);
    free(e);
}

void acks_on_max_deliveries(struct pool *p, uint64_t work_seq)
{
    struct attempt *a = attempt_of_work(p, work_seq);
    if (a != NULL)
        attempt_on(a, ATTEMPT_ON_MAX_DELIVERIES, NULL);
}

/* ---- acks that are not recorded when the pool is given up */

/* What the next leader must know: once servers were restarted AX_WORK may take the same hand-off as
 * new. */
struct unrecorded_list {
    struct unrecorded_attempt list[UNRECORDED_MAX];
    size_t count;
};

static void publish(struct pool *p, struct unrecorded_list *t)
{
    char subject[SUBJECT_MAX_CHARS];
    size_t bytes;
    uint8_t *buf = t->count > 0 ? unrecorded_pack(t->list, t->count, &bytes) : NULL;
    if (buf != NULL) {
        snprintf(subject, sizeof(subject), UNRECORDED_PREFIX "%s", p->name);
        wire_publish(p->dispatch->wire, subject, buf, bytes);
    }
    free(buf);
    t->count = 0;
}

static void keep_ack(struct pool *p, const struct attempt *a, struct unrecorded_list *t)
{
    keep_pending(p, a->hand_off.seq, &(struct ack_payload){.kind = ACK_ACK});
    remember_unrecorded(p, a->task.id, a->end.attempt, a->end.fence);
    if (t == NULL)
        return;
    struct unrecorded_attempt *u = &t->list[t->count++];
    *u = (struct unrecorded_attempt){.attempt = a->end.attempt, .fence = a->end.fence};
    snprintf(u->task, sizeof(u->task), "%s", a->task.id);
    if (t->count == UNRECORDED_MAX)
        publish(p, t);
}

void acks_keep(struct pool *p)
{
    struct unrecorded_list *t = calloc(1,
                                       sizeof(*t)); /* NULL: the others hear nothing, a hint less */
    size_t kept = 0;
    for (int i = 0; i < p->queue_count; i++) {
        for (struct attempt *a = p->queues[i]->attempts; a != NULL; a = a->by_seq.next) {
            if (a->end.decided && a->end.kind == END_DONE && a->end.fence != 0) {
                keep_ack(p, a, t);
                kept++;
            } else if (a->state != ATTEMPT_CANCELLING) {
                acks_supersede(a, NULL);
            }
        }
    }
    if (kept > 0)
        log_info("acks not recorded yet, others told", "pool=%s acks=%zu", p->name, kept);
    if (t != NULL)
        publish(p, t);
    free(t);
}

void acks_on_unrecorded(struct pool *p, const void *data, size_t bytes)
{
    struct unrecorded_attempt *list;
    size_t count;
    if (unrecorded_unpack(&list, &count, data, bytes) != AX_OK)
        return;
    for (size_t i = 0; i < count; i++)
        remember_unrecorded(p, list[i].task, list[i].attempt, list[i].fence);
    free(list);
}

/* ---- forgetting */

void acks_forget_task(struct pool *p, const char *id)
{
    struct superseded_ack *l, *next;
    HASH_ITER(hh, p->acks.superseded, l, next) {
        if (strcmp(l->id, id) == 0) {
            HASH_DEL(p->acks.superseded, l);
            free(l);
        }
    }
}

/* What was kept by sequence belongs to the stream that is gone. */
void acks_forget_sequences(struct pool *p)
{
    struct pending_ack *e, *next;
    HASH_ITER(hh, p->acks.pending, e, next) {
        HASH_DEL(p->acks.pending, e);
        free(e);
    }
    struct superseded_ack *l, *later;
    HASH_ITER(hh, p->acks.superseded, l, later) {
        HASH_DEL(p->acks.superseded, l);
        free(l);
    }
    struct unrecorded_ack *a, *other;
    HASH_ITER(hh, p->acks.unrecorded, a, other) {
        HASH_DEL(p->acks.unrecorded, a);
        free(a);
    }
}
