/* What workers say: receipts on their way to the runs they are for, early ones, late ones
 * (rule 5). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/acked.h"
#include "core/log.h"
#include "dispatch/dispatch.h"
#include "dispatch/pool.h"

#define EARLY_MAX 8192
/* Less than the shortest window: what was done longer ago may be wanted again. */
#define ACKED_KEEP_NS 50000000000LL

static void keep_early(struct pool *p, uint64_t w, const struct ack_payload *a)
{
    struct early *e = NULL;
    HASH_FIND(hh, p->early, &w, sizeof(w), e);
    if (e == NULL) {
        if (HASH_COUNT(p->early) >= EARLY_MAX) { /* hints may be lost: the oldest goes */
            struct early *oldest = p->early;
            HASH_DEL(p->early, oldest);
            free(oldest);
        }
        e = calloc(1, sizeof(*e));
        if (e == NULL)
            return;
        e->work_seq = w;
        HASH_ADD(hh, p->early, work_seq, sizeof(e->work_seq), e);
    }
    e->payload = *a;
    e->payload.next = NULL;
}

static bool honour_late(struct pool *p, uint64_t w, const struct ack_payload *a)
{
    struct late *l = NULL;
    HASH_FIND(hh, p->late, &w, sizeof(w), l);
    if (l == NULL)
        return false;
    if (a->kind == ACK_ACK || a->kind == ACK_NEXT) {
        figures_heard_late(p, l);
        pool_on_late_ack(p, l);
        HASH_DEL(p->late, l);
        free(l);
    }
    return true;
}

static void late_of_run(struct pool *p, struct run *r)
{
    r->done_late = true;
    struct late l = {.work_seq = r->work_seq,
                     .attempt = r->task.attempt,
                     .handed_ns = r->handed_ns,
                     .heard_ns = r->heard_ns};
    snprintf(l.id, sizeof(l.id), "%s", r->task.id);
    figures_heard_late(p, &l);
    pool_on_late_ack(p, &l);
}

static void receive(struct run *r, const struct ack_payload *a)
{
    char why[300];
    figures_heard(r, a->kind);
    adapt_receipt(r, a->kind);
    switch (a->kind) {
    case ACK_ACK:
    case ACK_NEXT:
        run_finish(r);
        break;
    case ACK_NAK:
        metric_add(r->pool->m_naks, 1);
        run_fail(r, "nak", a->delay_ms);
        break;
    case ACK_TERM:
        snprintf(why, sizeof(why), "terminated%s%s", a->reason[0] != '\0' ? ": " : "", a->reason);
        run_bury(r, why);
        break;
    case ACK_PROGRESS:
        r->active_ns = loop_now_ns(r->pool->dispatch->loop);
        run_renew(r);
        break;
    case ACK_UNKNOWN:
        break;
    }
}

void pool_on_receipt(struct pool *p, uint64_t w, int64_t stored_ns, const struct ack_payload *a)
{
    struct run *r = NULL;
    HASH_FIND(by_work, p->by_work, &w, sizeof(w), r);
    if (stored_ns < p->dispatch->work_epoch_ns)
        return; /* a worker still had it from an AX_WORK that was deleted */
    if (!p->led) {
        /* We handed it out, and know whose ack this is: recorded, for whoever leads next. Else it
         * is kept: we may lead next, and find the hand-off still in AX_WORK (in a cluster it goes a
         * while after its ack). */
        if (honour_late(p, w, a))
            return;
        if (a->kind != ACK_PROGRESS && a->kind != ACK_UNKNOWN)
            keep_early(p, w, a);
        return;
    }
    if (r != NULL && r->state == RUN_RUNNING)
        receive(r, a);
    else if (r != NULL && r->state == RUN_ENDING && r->end != END_DONE &&
             (a->kind == ACK_ACK || a->kind == ACK_NEXT)) {
        /* Superseded while the retry is being written: rule 5 */
        late_of_run(p, r);
    } else if (r == NULL && honour_late(p, w, a))
        ;
    else if (a->kind != ACK_PROGRESS && a->kind != ACK_UNKNOWN &&
             (r == NULL || r->state == RUN_LOOKING)) {
        /* its PubAck is on the way, or a look is under way, or it is none of ours */
        keep_early(p, w, a);
    }
    pool_pump(p);
}

void pool_check_early(struct pool *p, struct run *r)
{
    struct early *e = NULL;
    HASH_FIND(hh, p->early, &r->work_seq, sizeof(r->work_seq), e);
    if (e == NULL)
        return;
    HASH_DEL(p->early, e);
    receive(r, &e->payload);
    free(e);
}

/* What the next leader must know: once servers were restarted AX_WORK may take the same hand-off as
 * new. */
struct told {
    struct acked_attempt list[ACKED_MAX];
    size_t count;
};

static void tell(struct pool *p, struct told *t)
{
    char subject[SUBJECT_MAX_CHARS];
    size_t bytes;
    uint8_t *buf = t->count > 0 ? acked_pack(t->list, t->count, &bytes) : NULL;
    if (buf != NULL) {
        snprintf(subject, sizeof(subject), ACKED_PREFIX "%s", p->name);
        natsConnection_Publish(p->dispatch->nc, subject, buf, (int)bytes);
    }
    free(buf);
    t->count = 0;
}

static void keep_ack(struct pool *p, const struct run *r, struct told *t)
{
    struct late l = {.work_seq = r->work_seq, .attempt = r->task.attempt};
    snprintf(l.id, sizeof(l.id), "%s", r->task.id);
    keep_early(p, r->work_seq, &(struct ack_payload){.kind = ACK_ACK});
    pool_remember_acked(p, &l);
    if (t == NULL)
        return;
    struct acked_attempt *a = &t->list[t->count++];
    *a = (struct acked_attempt){.attempt = l.attempt, .fence = l.work_seq};
    snprintf(a->task, sizeof(a->task), "%s", l.id);
    if (t->count == ACKED_MAX)
        tell(p, t);
}

void pool_keep_acks(struct pool *p)
{
    struct told *t = calloc(1, sizeof(*t)); /* NULL: nobody is told, a hint less */
    size_t kept = 0;
    for (int i = 0; i < p->queue_count; i++) {
        for (struct run *r = p->queues[i]->runs; r != NULL; r = r->by_seq.next) {
            if (r->decided && r->end == END_DONE) {
                keep_ack(p, r, t);
                kept++;
            } else if (r->state != RUN_ENDING || r->end != END_CANCELLED) {
                pool_remember_late(p, r);
            }
        }
    }
    if (kept > 0)
        log_info("acks not recorded yet, others told", "pool=%s acks=%zu", p->name, kept);
    if (t != NULL)
        tell(p, t);
    free(t);
}

void pool_on_acked(struct pool *p, const void *data, size_t bytes)
{
    struct acked_attempt *list;
    size_t count;
    if (acked_unpack(&list, &count, data, bytes) != AX_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        struct late l = {.work_seq = list[i].fence, .attempt = list[i].attempt};
        snprintf(l.id, sizeof(l.id), "%s", list[i].task);
        pool_remember_acked(p, &l);
    }
    free(list);
}

void pool_remember_late(struct pool *p, const struct run *r)
{
    struct late *l = NULL;
    uint64_t w = r->work_seq;
    HASH_FIND(hh, p->late, &w, sizeof(w), l);
    if (l != NULL || w == 0)
        return;
    if (HASH_COUNT(p->late) >= LATE_MAX) {
        struct late *oldest = p->late;
        HASH_DEL(p->late, oldest);
        free(oldest);
    }
    l = calloc(1, sizeof(*l));
    if (l == NULL)
        return; /* one more ack unheard */
    l->work_seq = w;
    l->attempt = r->task.attempt;
    l->handed_ns = r->handed_ns;
    l->heard_ns = r->heard_ns;
    snprintf(l->id, sizeof(l->id), "%s", r->task.id);
    HASH_ADD(hh, p->late, work_seq, sizeof(l->work_seq), l);
}

void pool_forget_late(struct pool *p, const char *id)
{
    struct late *l, *next;
    HASH_ITER(hh, p->late, l, next) {
        if (strcmp(l->id, id) == 0) {
            HASH_DEL(p->late, l);
            free(l);
        }
    }
}

void pool_remember_acked(struct pool *p, const struct late *l)
{
    struct acked *a = NULL;
    HASH_FIND_STR(p->acked, l->id, a);
    if (a == NULL) {
        if (HASH_COUNT(p->acked) >= LATE_MAX) {
            struct acked *oldest = p->acked;
            HASH_DEL(p->acked, oldest);
            free(oldest);
        }
        a = calloc(1, sizeof(*a));
        if (a == NULL)
            return; /* the record alone will tell */
        snprintf(a->id, sizeof(a->id), "%s", l->id);
        HASH_ADD_STR(p->acked, id, a);
    }
    a->attempt = l->attempt;
    a->work_seq = l->work_seq;
    a->heard_ns = loop_now_ns(p->dispatch->loop);
}

bool pool_was_acked(struct pool *p, const char *id, uint32_t *attempt, uint64_t *work_seq)
{
    struct acked *a = NULL;
    HASH_FIND_STR(p->acked, id, a);
    if (a == NULL || loop_now_ns(p->dispatch->loop) - a->heard_ns >= ACKED_KEEP_NS)
        return false;
    *attempt = a->attempt;
    *work_seq = a->work_seq;
    return true;
}

void pool_on_max_deliveries(struct pool *p, uint64_t w)
{
    struct run *r = NULL;
    HASH_FIND(by_work, p->by_work, &w, sizeof(w), r);
    if (r == NULL || r->state != RUN_RUNNING || r->decided)
        return;
    r->active_ns = INT64_MIN / 2; /* the server itself says that ack wait is over */
    run_look(r);
}

/* What was kept by sequence belongs to the stream that is gone. */
void pool_forget_sequences(struct pool *p)
{
    struct early *e, *next;
    HASH_ITER(hh, p->early, e, next) {
        HASH_DEL(p->early, e);
        free(e);
    }
    struct late *l, *later;
    HASH_ITER(hh, p->late, l, later) {
        HASH_DEL(p->late, l);
        free(l);
    }
    struct acked *a, *other;
    HASH_ITER(hh, p->acked, a, other) {
        HASH_DEL(p->acked, a);
        free(a);
    }
}
