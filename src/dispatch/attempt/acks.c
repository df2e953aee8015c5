/* What workers say: receipts on their way to the runs they are for, early ones, late ones
 * (rule 5). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "dispatch/attempt/ending.h"
#include "dispatch/attempt/verify.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool/pool.h"
#include "task/unrecorded.h"

#define PENDING_MAX 8192
/* Less than the shortest window: what was done longer ago may be wanted again. */
#define UNRECORDED_KEEP_NS 50000000000LL

static void keep_pending(struct pool *p, uint64_t w, const struct ack_payload *a)
{
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

static bool honour_superseded(struct pool *p, uint64_t w, const struct ack_payload *a)
{
    struct superseded_ack *l = NULL;
    HASH_FIND(hh, p->acks.superseded, &w, sizeof(w), l);
    if (l == NULL)
        return false;
    if (a->kind == ACK_ACK || a->kind == ACK_NEXT) {
        pool_stats_heard_late(p, l);
        acks_honour(p, l);
        HASH_DEL(p->acks.superseded, l);
        free(l);
    }
    return true;
}

static void honour_ending(struct pool *p, struct attempt *r)
{
    r->end.done_late = true;
    struct superseded_ack l = {.work_seq = r->hand_off.seq,
                               .attempt = r->task.attempt,
                               .handed_ns = r->hand_off.at_ns,
                               .heard_ns = r->hand_off.heard_ns};
    snprintf(l.id, sizeof(l.id), "%s", r->task.id);
    pool_stats_heard_late(p, &l);
    acks_honour(p, &l);
}

static void receive(struct attempt *r, const struct ack_payload *a)
{
    char why[300];
    pool_stats_heard(r, a->kind);
    adapt_receipt(r, a->kind);
    switch (a->kind) {
    case ACK_ACK:
    case ACK_NEXT:
        ending_finish(r);
        break;
    case ACK_NAK:
        metric_add(r->pool->count.naks, 1);
        ending_fail(r, "nak", a->delay_ms);
        break;
    case ACK_TERM:
        snprintf(why, sizeof(why), "terminated%s%s", a->reason[0] != '\0' ? ": " : "", a->reason);
        ending_bury(r, DEAD_TERMINATED, why);
        break;
    case ACK_PROGRESS:
        r->hand_off.active_ns = loop_now_ns(r->pool->dispatch->loop);
        attempt_renew(r);
        break;
    case ACK_UNKNOWN:
        break;
    }
}

void acks_on_ack(struct pool *p, uint64_t w, int64_t stored_ns, const struct ack_payload *a)
{
    struct attempt *r = NULL;
    HASH_FIND(by_work, p->by_work, &w, sizeof(w), r);
    if (stored_ns < p->dispatch->work_epoch_ns)
        return; /* a worker still had it from an AX_WORK that was deleted */
    if (!p->lead.led) {
        /* We handed it out, and know whose ack this is: recorded, for whoever leads next. Else it
         * is kept: we may lead next, and find the hand-off still in AX_WORK (in a cluster it goes a
         * while after its ack). */
        if (honour_superseded(p, w, a))
            return;
        if (a->kind != ACK_PROGRESS && a->kind != ACK_UNKNOWN)
            keep_pending(p, w, a);
        return;
    }
    if (r != NULL && r->state == ATTEMPT_RUNNING)
        receive(r, a);
    else if (r != NULL && r->state == ATTEMPT_ENDING && r->end.kind != END_DONE &&
             (a->kind == ACK_ACK || a->kind == ACK_NEXT)) {
        /* Superseded while the retry is being written: rule 5 */
        honour_ending(p, r);
    } else if (r == NULL && honour_superseded(p, w, a))
        ;
    else if (a->kind != ACK_PROGRESS && a->kind != ACK_UNKNOWN &&
             (r == NULL || r->state == ATTEMPT_VERIFYING)) {
        /* its PubAck is on the way, or a look is under way, or it is none of ours */
        keep_pending(p, w, a);
    }
    pool_pump(p);
}

void acks_take_pending(struct pool *p, struct attempt *r)
{
    struct pending_ack *e = NULL;
    HASH_FIND(hh, p->acks.pending, &r->hand_off.seq, sizeof(r->hand_off.seq), e);
    if (e == NULL)
        return;
    HASH_DEL(p->acks.pending, e);
    receive(r, &e->payload);
    free(e);
}

/* What the next leader must know: once servers were restarted AX_WORK may take the same hand-off as
 * new. */
struct told {
    struct unrecorded_attempt list[UNRECORDED_MAX];
    size_t count;
};

static void tell(struct pool *p, struct told *t)
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

static void keep_ack(struct pool *p, const struct attempt *r, struct told *t)
{
    struct superseded_ack l = {.work_seq = r->hand_off.seq, .attempt = r->task.attempt};
    snprintf(l.id, sizeof(l.id), "%s", r->task.id);
    keep_pending(p, r->hand_off.seq, &(struct ack_payload){.kind = ACK_ACK});
    acks_remember_unrecorded(p, &l);
    if (t == NULL)
        return;
    struct unrecorded_attempt *a = &t->list[t->count++];
    *a = (struct unrecorded_attempt){.attempt = l.attempt, .fence = l.work_seq};
    snprintf(a->task, sizeof(a->task), "%s", l.id);
    if (t->count == UNRECORDED_MAX)
        tell(p, t);
}

void acks_keep(struct pool *p)
{
    struct told *t = calloc(1, sizeof(*t)); /* NULL: nobody is told, a hint less */
    size_t kept = 0;
    for (int i = 0; i < p->queue_count; i++) {
        for (struct attempt *r = p->queues[i]->attempts; r != NULL; r = r->by_seq.next) {
            if (r->end.decided && r->end.kind == END_DONE) {
                keep_ack(p, r, t);
                kept++;
            } else if (r->state != ATTEMPT_ENDING || r->end.kind != END_CANCELLED) {
                acks_remember_superseded(p, r);
            }
        }
    }
    if (kept > 0)
        log_info("acks not recorded yet, others told", "pool=%s acks=%zu", p->name, kept);
    if (t != NULL)
        tell(p, t);
    free(t);
}

void acks_on_unrecorded(struct pool *p, const void *data, size_t bytes)
{
    struct unrecorded_attempt *list;
    size_t count;
    if (unrecorded_unpack(&list, &count, data, bytes) != AX_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        struct superseded_ack l = {.work_seq = list[i].fence, .attempt = list[i].attempt};
        snprintf(l.id, sizeof(l.id), "%s", list[i].task);
        acks_remember_unrecorded(p, &l);
    }
    free(list);
}

void acks_remember_superseded(struct pool *p, const struct attempt *r)
{
    struct superseded_ack *l = NULL;
    uint64_t w = r->hand_off.seq;
    HASH_FIND(hh, p->acks.superseded, &w, sizeof(w), l);
    if (l != NULL || w == 0)
        return;
    if (HASH_COUNT(p->acks.superseded) >= SUPERSEDED_MAX) {
        struct superseded_ack *oldest = p->acks.superseded;
        HASH_DEL(p->acks.superseded, oldest);
        free(oldest);
    }
    l = calloc(1, sizeof(*l));
    if (l == NULL)
        return; /* one more ack unheard */
    l->work_seq = w;
    l->attempt = r->task.attempt;
    l->handed_ns = r->hand_off.at_ns;
    l->heard_ns = r->hand_off.heard_ns;
    snprintf(l->id, sizeof(l->id), "%s", r->task.id);
    HASH_ADD(hh, p->acks.superseded, work_seq, sizeof(l->work_seq), l);
}

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

void acks_remember_unrecorded(struct pool *p, const struct superseded_ack *l)
{
    struct unrecorded_ack *a = NULL;
    HASH_FIND_STR(p->acks.unrecorded, l->id, a);
    if (a == NULL) {
        if (HASH_COUNT(p->acks.unrecorded) >= SUPERSEDED_MAX) {
            struct unrecorded_ack *oldest = p->acks.unrecorded;
            HASH_DEL(p->acks.unrecorded, oldest);
            free(oldest);
        }
        a = calloc(1, sizeof(*a));
        if (a == NULL)
            return; /* the record alone will tell */
        snprintf(a->id, sizeof(a->id), "%s", l->id);
        HASH_ADD_STR(p->acks.unrecorded, id, a);
    }
    a->attempt = l->attempt;
    a->work_seq = l->work_seq;
    a->heard_ns = loop_now_ns(p->dispatch->loop);
}

bool acks_was_acked(struct pool *p, const char *id, uint32_t *attempt, uint64_t *work_seq)
{
    struct unrecorded_ack *a = NULL;
    HASH_FIND_STR(p->acks.unrecorded, id, a);
    if (a == NULL || loop_now_ns(p->dispatch->loop) - a->heard_ns >= UNRECORDED_KEEP_NS)
        return false;
    *attempt = a->attempt;
    *work_seq = a->work_seq;
    return true;
}

void acks_on_max_deliveries(struct pool *p, uint64_t w)
{
    struct attempt *r = NULL;
    HASH_FIND(by_work, p->by_work, &w, sizeof(w), r);
    if (r == NULL || r->state != ATTEMPT_RUNNING || r->end.decided)
        return;
    r->hand_off.active_ns = INT64_MIN / 2; /* the server itself says that ack wait is over */
    verify_start(r);
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
