#include "dispatch/attempt/pending_acks.h"

#include <stdlib.h>
#include <utlist.h>

static struct pending_ack *of_seq(const struct pending_acks *p, uint64_t work_seq)
{
    struct pending_ack *first = NULL;
    HASH_FIND(hh, p->by_seq, &work_seq, sizeof(work_seq), first);
    return first;
}

static void drop_list(struct pending_acks *p, struct pending_ack *first)
{
    struct pending_ack *e, *next;
    HASH_DEL(p->by_seq, first);
    DL_FOREACH_SAFE(first, e, next) {
        free(e);
        p->count--;
    }
}

static struct pending_ack *find(const struct pending_acks *p, uint64_t work_seq, int64_t stored_ns)
{
    struct pending_ack *e = of_seq(p, work_seq);
    while (e != NULL && e->ack.stored_ns != stored_ns)
        e = e->next;
    return e;
}

static unsigned length(const struct pending_ack *first)
{
    unsigned n = 0;
    for (const struct pending_ack *e = first; e != NULL; e = e->next)
        n++;
    return n;
}

/* The first element is the one in the table, so the second one is overwritten and goes last: the
 * oldest of all but the first. What was heard first is the worker's word most often. */
static struct pending_ack *reuse(struct pending_ack *first)
{
    struct pending_ack *e = first->next;
    DL_DELETE(first, e);
    DL_APPEND(first, e);
    return e;
}

static struct pending_ack *place(struct pending_acks *p, const struct heard_ack *ack)
{
    struct pending_ack *first = of_seq(p, ack->work_seq);
    if (length(first) >= PENDING_ACKS_OF_ONE_MAX) {
        p->lost++;
        return reuse(first);
    }
    while (p->count >= PENDING_ACKS_MAX && p->by_seq != first) {
        p->lost++;
        drop_list(p, p->by_seq);
    }
    struct pending_ack *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        p->lost++;
        return NULL;
    }
    e->work_seq = ack->work_seq;
    p->count++;
    bool alone = first == NULL;
    DL_APPEND(first, e);
    if (alone)
        HASH_ADD(hh, p->by_seq, work_seq, sizeof(e->work_seq), e);
    return e;
}

void pending_acks_keep(struct pending_acks *p, const struct heard_ack *ack)
{
    struct pending_ack *e = find(p, ack->work_seq, ack->stored_ns);
    bool known = e != NULL;
    if (!known && (e = place(p, ack)) == NULL)
        return;
    int64_t first_ns = e->ack.heard_ns;
    e->ack = *ack;
    if (known)
        e->ack.heard_ns = first_ns;
    e->ack.payload.next = NULL;
    e->ack.payload.next_bytes = 0;
}

const struct heard_ack *pending_acks_find(const struct pending_acks *p, uint64_t work_seq,
                                          const struct hand_off_time *t, int64_t offset_ns)
{
    for (const struct pending_ack *e = of_seq(p, work_seq); e != NULL; e = e->next) {
        if (hand_off_time_fits(t, e->ack.stored_ns, e->ack.heard_ns, offset_ns))
            return &e->ack;
    }
    return NULL;
}

void pending_acks_each_misfit(struct pending_acks *p, uint64_t work_seq,
                              const struct hand_off_time *t, int64_t offset_ns,
                              void (*each)(void *arg, struct heard_ack *ack), void *arg)
{
    for (struct pending_ack *e = of_seq(p, work_seq); e != NULL; e = e->next) {
        if (!hand_off_time_fits(t, e->ack.stored_ns, e->ack.heard_ns, offset_ns))
            each(arg, &e->ack);
    }
}

void pending_acks_drop(struct pending_acks *p, uint64_t work_seq)
{
    struct pending_ack *first = of_seq(p, work_seq);
    if (first != NULL)
        drop_list(p, first);
}

unsigned pending_acks_expire(struct pending_acks *p, int64_t before_ns, int64_t since_ns)
{
    unsigned unclaimed = 0;
    struct pending_ack *first, *tmp, *e;
    HASH_ITER(hh, p->by_seq, first, tmp) {
        if (first->prev->ack.heard_ns >= before_ns)
            break; /* nearly in order of hearing; a later round takes the others */
        DL_FOREACH(first, e)
            unclaimed += !e->ack.refused && e->ack.heard_ns >= since_ns;
        drop_list(p, first);
    }
    return unclaimed;
}

void pending_acks_forget(struct pending_acks *p)
{
    struct pending_ack *first, *tmp;
    HASH_ITER(hh, p->by_seq, first, tmp)
        drop_list(p, first);
}
