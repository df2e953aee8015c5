/* What workers say: receipts on their way to the runs they are for, early ones, late ones (rule 5). */
#include <stdio.h>
#include <stdlib.h>

#include "dispatch/dispatch.h"
#include "dispatch/pool.h"

#define EARLY_MAX 8192

static void keep_early(struct pool *p, uint64_t w, const struct ack_payload *a)
{
    struct early *e = NULL;
    HASH_FIND(hh, p->early, &w, sizeof w, e);
    if (e == NULL) {
        if (HASH_COUNT(p->early) >= EARLY_MAX) { /* hints may be lost: the oldest goes */
            struct early *oldest = p->early;
            HASH_DEL(p->early, oldest);
            free(oldest);
        }
        e = calloc(1, sizeof *e);
        if (e == NULL)
            return;
        e->work_seq = w;
        HASH_ADD(hh, p->early, work_seq, sizeof e->work_seq, e);
    }
    e->payload = *a;
    e->payload.next = NULL;
}

static bool honour_late(struct pool *p, uint64_t w, const struct ack_payload *a)
{
    struct late *l = NULL;
    HASH_FIND(hh, p->late, &w, sizeof w, l);
    if (l == NULL)
        return false;
    if (a->kind == ACK_ACK || a->kind == ACK_NEXT) {
        pool_on_late_ack(p, l);
        HASH_DEL(p->late, l);
        free(l);
    }
    return true;
}

static void late_of_run(struct pool *p, struct run *r)
{
    r->done_late = true;
    struct late l = {.work_seq = r->work_seq, .attempt = r->task.attempt};
    snprintf(l.id, sizeof l.id, "%s", r->task.id);
    pool_on_late_ack(p, &l);
}

static void receive(struct run *r, const struct ack_payload *a)
{
    struct pool *p = r->pool;
    char why[300];
    switch (a->kind) {
    case ACK_ACK:
    case ACK_NEXT:
        run_finish(r);
        break;
    case ACK_NAK:
        run_fail(r, "nak", a->delay_ms);
        break;
    case ACK_TERM:
        snprintf(why, sizeof why, "terminated%s%s", a->reason[0] != '\0' ? ": " : "", a->reason);
        run_bury(r, why);
        break;
    case ACK_PROGRESS:
        r->active_ns = loop_now_ns(p->dispatch->loop);
        run_renew(r);
        break;
    case ACK_UNKNOWN:
        break;
    }
}

void pool_on_receipt(struct pool *p, uint64_t w, int64_t stored_ns, const struct ack_payload *a)
{
    struct run *r = NULL;
    HASH_FIND(by_work, p->by_work, &w, sizeof w, r);
    if (stored_ns < p->dispatch->work_epoch_ns)
        return; /* a worker still had it from an AX_WORK that was deleted */
    if (r != NULL && r->state == RUN_RUNNING)
        receive(r, a);
    else if (r != NULL && r->state == RUN_ENDING && r->end != END_DONE && (a->kind == ACK_ACK || a->kind == ACK_NEXT))
        /* Superseded while the retry is being written: rule 5 */
        late_of_run(p, r);
    else if (r == NULL && honour_late(p, w, a))
        ;
    else if (a->kind != ACK_PROGRESS && a->kind != ACK_UNKNOWN && (r == NULL || r->state == RUN_LOOKING))
        keep_early(p, w, a); /* its PubAck is on the way, or a look is under way, or it is none of ours */
    pool_pump(p);
}

void pool_check_early(struct pool *p, struct run *r)
{
    struct early *e = NULL;
    HASH_FIND(hh, p->early, &r->work_seq, sizeof r->work_seq, e);
    if (e == NULL)
        return;
    HASH_DEL(p->early, e);
    receive(r, &e->payload);
    free(e);
}

void pool_remember_late(struct pool *p, uint64_t w, const char *id, uint32_t attempt)
{
    struct late *l = NULL;
    HASH_FIND(hh, p->late, &w, sizeof w, l);
    if (l != NULL || w == 0)
        return;
    if (HASH_COUNT(p->late) >= LATE_MAX) {
        struct late *oldest = p->late;
        HASH_DEL(p->late, oldest);
        free(oldest);
    }
    l = calloc(1, sizeof *l);
    if (l == NULL)
        return; /* one more ack unheard */
    l->work_seq = w;
    l->attempt = attempt;
    snprintf(l->id, sizeof l->id, "%s", id);
    HASH_ADD(hh, p->late, work_seq, sizeof l->work_seq, l);
}

void pool_on_max_deliveries(struct pool *p, uint64_t w)
{
    struct run *r = NULL;
    HASH_FIND(by_work, p->by_work, &w, sizeof w, r);
    if (r == NULL || r->state != RUN_RUNNING)
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
}
