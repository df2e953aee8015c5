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

/* Less than the shortest window: what was done longer ago may be wanted again. */
#define UNRECORDED_KEEP_NS 50000000000LL
/* A pending ack helps whoever takes the pool over: that begins when the lease has expired, and in a
 * cluster a stream may be without a leader for some seconds more. */
#define TAKEOVER_NS 60000000000LL
/* From the last refused ack: hand-offs are read as they are made. */
#define DOUBT_NS 60000000000LL
#define DOUBT_EVERY_NS 1000000000LL /* AX_WORK is read at most so often for one attempt */

/* ---- which acks are believed ---- */

static int64_t offset_ns(const struct pool *p)
{
    return clock_offset_ns(&p->dispatch->clock);
}

static bool fits(const struct pool *p, const struct hand_off_time *t, const struct heard_ack *ack)
{
    return hand_off_time_fits(t, ack->stored_ns, ack->heard_ns, offset_ns(p));
}

static void refuse(struct pool *p, uint64_t work_seq)
{
    static struct log_gate gate;
    int64_t now = loop_now_ns(p->dispatch->loop);
    p->acks.doubt_until_ns = now + DOUBT_NS;
    metric_add(p->count.acks_refused, 1);
    log_limited(&gate, now, LOG_WARN, "ack does not fit a hand-off, not believed",
                "pool=%s fence=%" PRIu64, p->name, work_seq);
}

static bool is_word_of_an_end(enum ack_kind kind)
{
    return kind != ACK_PROGRESS && kind != ACK_UNKNOWN;
}

static const struct heard_ack *find_pending(const struct attempt *a)
{
    return pending_acks_find(&a->pool->acks.pending, a->hand_off.seq, &a->hand_off.time,
                             offset_ns(a->pool));
}

bool acks_are_pending(const struct attempt *a)
{
    return find_pending(a) != NULL;
}

static void note_misfit(void *arg, struct heard_ack *ack)
{
    (void)ack;
    *(bool *)arg = true;
}

/* Acks are being forged, in this pool or for this very hand-off, which gets its sequence now: it is
 * read before any ack of it is believed. */
static bool is_forged(const struct attempt *a, uint64_t work_seq)
{
    struct pool *p = a->pool;
    bool misfit = loop_now_ns(p->dispatch->loop) < p->acks.doubt_until_ns;
    pending_acks_each_misfit(&p->acks.pending, work_seq, &a->hand_off.time, offset_ns(p),
                             note_misfit, &misfit);
    return misfit;
}

unsigned acks_facts(const struct attempt *a, unsigned needed, const struct attempt_news *news)
{
    if ((needed & ATTEMPT_IS_DOUBTED) == 0)
        return 0;
    bool doubted = a->state == ATTEMPT_HANDING_OFF ? is_forged(a, news->seq) : a->hand_off.doubted;
    return doubted ? ATTEMPT_IS_DOUBTED : 0u;
}

static void refuse_misfit(void *arg, struct heard_ack *ack)
{
    struct attempt *a = arg;
    a->hand_off.doubted = true;
    if (!ack->refused)
        refuse(a->pool, ack->work_seq);
    ack->refused = true;
}

void acks_refuse_misfits(struct attempt *a)
{
    pending_acks_each_misfit(&a->pool->acks.pending, a->hand_off.seq, &a->hand_off.time,
                             offset_ns(a->pool), refuse_misfit, a);
}

void acks_on_hand_off(struct attempt *a)
{
    a->hand_off.time.exact_only = is_forged(a, a->hand_off.seq);
    acks_refuse_misfits(a);
}

void acks_note_seq(struct pool *p, uint64_t work_seq)
{
    if (work_seq > p->acks.last_seq)
        p->acks.last_seq = work_seq;
}

void acks_expire(struct pool *p)
{
    int64_t now = loop_now_ns(p->dispatch->loop);
    int64_t keep_ns = p->dispatch->options->lease_ttl_ms * 1000000 + TAKEOVER_NS;
    int64_t since_ns = p->lead.ready ? p->lead.since_ns : INT64_MAX;
    unsigned unclaimed = pending_acks_expire(&p->acks.pending, now - keep_ns, since_ns);
    metric_add(p->count.acks_refused, unclaimed);
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
    static struct log_gate gate;
    struct dispatch *d = p->dispatch;
    pool_stats_observe_superseded(p, s);
    /* First: the retry may be about to start. */
    filter_add(d->done.filter, s->id, strlen(s->id), clock_ax_ns(&d->clock));
    remember_unrecorded(p, s->id, s->attempt, s->work_seq);
    FAULT("late.record.before");
    record_writer_write(p, s->id,
                        &(struct record){.state = RECORD_DONE,
                                         .attempt = s->attempt,
                                         .fence = s->work_seq,
                                         .submitted = s->submitted},
                        on_honoured, p);
    log_limited(&gate, loop_now_ns(p->dispatch->loop), LOG_INFO, "late ack honoured",
                "task=%s pool=%s fence=%" PRIu64, s->id, p->name, s->work_seq);
}

static bool honour_superseded(struct pool *p, const struct heard_ack *ack)
{
    struct superseded_ack *s = NULL;
    HASH_FIND(hh, p->acks.superseded, &ack->work_seq, sizeof(ack->work_seq), s);
    if (s == NULL)
        return false;
    if (!fits(p, &s->time, ack)) {
        refuse(p, ack->work_seq);
    } else if (ack->payload.kind == ACK_ACK || ack->payload.kind == ACK_NEXT) {
        honour(p, s);
        HASH_DEL(p->acks.superseded, s);
        free(s);
    }
    return true;
}

static struct superseded_ack superseded(const struct attempt *a)
{
    struct superseded_ack s = {.work_seq = a->hand_off.seq,
                               .time = a->hand_off.time,
                               .attempt = a->task.attempt,
                               .submitted = a->task.submitted,
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

static void receive(struct attempt *a, const struct heard_ack *heard)
{
    char why[300];
    const struct ack_payload *ack = &heard->payload;
    struct attempt_news news = {.delay_ms = -1, .ack = heard};
    if (ack->kind == ACK_UNKNOWN)
        return;
    if (ack->kind == ACK_ACK || ack->kind == ACK_NEXT)
        a->hand_off.time.stored_ns = heard->stored_ns; /* it is over: should it be adopted again */
    /* What its worker could not run tells nothing of the task, nor of how long it takes. */
    if (a->state == ATTEMPT_RUNNING && !ack->given_back) {
        pool_stats_observe_ack(a, ack->kind);
        adapt_observe_ack(&a->pool->adapt, ack->kind, a->hand_off.at_ns,
                          loop_now_ns(a->pool->dispatch->loop));
    }
    if (ack->kind == ACK_NAK && ack->given_back) {
        news.end = END_GIVEN_BACK;
        news.delay_ms = ack->delay_ms;
        news.count = a->pool->count.given_back;
    } else if (ack->kind == ACK_NAK) {
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

/* The attempt is known, and this is not its worker's word, as far as one can tell. The server may
 * have taken it for that: what is gone from AX_WORK is not done then. It may also be the worker's
 * after all, where the server's clock was stepped a moment ago. So AX_WORK is read, which tells the
 * exact time, and the ack is kept until then. */
static void on_misfit(struct attempt *a, struct heard_ack *ack)
{
    struct pool *p = a->pool;
    refuse(p, ack->work_seq);
    if (is_word_of_an_end(ack->payload.kind))
        a->hand_off.doubted = true;
    if (a->hand_off.time.stored_ns != 0 || ack->payload.kind == ACK_UNKNOWN)
        return;
    ack->refused = true;
    pending_acks_keep(&p->acks.pending, ack);
    if (a->state != ATTEMPT_RUNNING ||
        (a->hand_off.doubted_ns != 0 && ack->heard_ns - a->hand_off.doubted_ns < DOUBT_EVERY_NS))
        return;
    a->hand_off.doubted_ns = ack->heard_ns;
    attempt_on(a, ATTEMPT_ON_MISFIT, NULL);
}

/* All that were handed off here are known, and none is on its way: nobody can have got this one. */
static bool is_of_the_future(const struct pool *p, uint64_t work_seq)
{
    return p->lead.ready && work_seq > p->acks.last_seq && p->flow.unanswered.count == 0;
}

/* Its attempt is not known here, or nobody leads the pool here. Where this dispatcher handed the
 * task out it knows whose ack this is: recorded, for the next leader. Else the ack is kept: its
 * PubAck may be on its way, or this dispatcher leads next, and finds the hand-off still in AX_WORK
 * (in a cluster it goes a while after its ack). */
static void overhear(struct pool *p, const struct heard_ack *ack)
{
    if (honour_superseded(p, ack))
        return;
    if (is_of_the_future(p, ack->work_seq))
        refuse(p, ack->work_seq);
    else if (is_word_of_an_end(ack->payload.kind))
        pending_acks_keep(&p->acks.pending, ack);
}

void acks_on_ack(struct pool *p, const struct ack_subject *subject, const struct ack_payload *ack)
{
    struct heard_ack heard = {.work_seq = subject->stream_seq,
                              .stored_ns = subject->timestamp_ns,
                              .heard_ns = loop_now_ns(p->dispatch->loop),
                              .payload = *ack};
    struct attempt *a = p->lead.led ? attempt_of_work(p, heard.work_seq) : NULL;
    if (a == NULL && heard.stored_ns < p->dispatch->work_epoch_ns)
        return; /* a worker still had it from an AX_WORK that was deleted */
    if (subject->stream_seq == 0 || subject->consumer_seq == 0 || subject->delivered == 0)
        refuse(p, heard.work_seq); /* no message is delivered with these */
    else if (a == NULL)
        overhear(p, &heard);
    else if (fits(p, &a->hand_off.time, &heard))
        receive(a, &heard);
    else
        on_misfit(a, &heard);
    if (p->lead.led)
        pump_soon(p);
}

void acks_keep_pending(struct attempt *a, const struct attempt_news *news)
{
    pending_acks_keep(&a->pool->acks.pending, news->ack);
}

void acks_take_pending(struct attempt *a, const struct attempt_news *news)
{
    (void)news;
    const struct heard_ack *found = find_pending(a);
    if (found == NULL)
        return;
    struct heard_ack ack = *found;
    if (ack.refused) /* the server's clock was stepped, nobody forges */
        a->pool->acks.doubt_until_ns = 0;
    acks_refuse_misfits(a);
    pending_acks_drop(&a->pool->acks.pending, ack.work_seq);
    receive(a, &ack);
}

void acks_on_max_deliveries(struct pool *p, uint64_t work_seq)
{
    struct attempt *a = attempt_of_work(p, work_seq);
    /* In doubt whose nak it was, the worker has its ack wait. */
    if (a != NULL && !a->hand_off.doubted)
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
    struct heard_ack ack = {.work_seq = a->hand_off.seq,
                            .stored_ns = a->hand_off.time.stored_ns,
                            .heard_ns = loop_now_ns(p->dispatch->loop),
                            .payload = {.kind = ACK_ACK}};
    if (ack.stored_ns != 0)
        pending_acks_keep(&p->acks.pending, &ack);
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
    static struct log_gate gate;
    if (unrecorded_unpack(&list, &count, data, bytes) != AX_OK) {
        log_limited(&gate, loop_now_ns(p->dispatch->loop), LOG_WARN,
                    "list of unrecorded acks that cannot be read, left out", "pool=%s", p->name);
        return;
    }
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
    pending_acks_forget(&p->acks.pending);
    p->acks.last_seq = 0;
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
