#include "dispatch/pool/demand.h"

#include <stdlib.h>
#include <utlist.h>

#include "base/saturate.h"

/* A pull known only from the count in the info: how long it is taken to wait. */
#define UNHEARD_NS 30000000000LL
/* A wish of a client that does not wait: how long its next poll may take. */
#define NO_WAIT_NS 1000000000LL

static void enqueue(struct demand *d, struct pull *p)
{
    DL_APPEND(d->waiting, p);
    p->queued = true;
    d->count++;
}

static void dequeue(struct demand *d, struct pull *p)
{
    if (!p->queued)
        return;
    DL_DELETE(d->waiting, p);
    p->queued = false;
    d->count--;
}

static void drop(struct demand *d, struct pull *p)
{
    dequeue(d, p);
    if (p->unacked == 0)
        free(p);
}

static struct pull *add(struct demand *d, int64_t left, int64_t expires_ns, bool polls)
{
    struct pull *p = d->count < DEMAND_WAITING_MAX ? calloc(1, sizeof(*p)) : NULL;
    if (p == NULL)
        return NULL; /* demand is a hint: the next info brings it back */
    p->left = left;
    p->expires_ns = expires_ns;
    p->polls = polls;
    enqueue(d, p);
    return p;
}

void demand_add(struct demand *d, const struct pull_request *r, int64_t batch, int64_t now_ns)
{
    int64_t left = r->batch;
    d->changes++;
    /* no_wait ends with the first messages it gets: no more than one grant will reach it. */
    if (r->no_wait && left > batch)
        left = batch;
    int64_t found = left < d->undelivered ? left : d->undelivered;
    d->undelivered -= found;
    left -= found;
    if (left > 0) {
        add(d, left,
            r->expires_ns > 0 ? saturate_add(now_ns, r->expires_ns)
            : r->no_wait      ? saturate_add(now_ns, NO_WAIT_NS)
                              : INT64_MAX,
            r->no_wait && r->expires_ns <= 0);
    }
}

static void drop_expired(struct demand *d, int64_t now_ns)
{
    while (d->waiting != NULL && d->waiting->expires_ns <= now_ns)
        drop(d, d->waiting);
}

struct pull *demand_next(struct demand *d, int64_t batch, int64_t now_ns)
{
    drop_expired(d, now_ns);
    return d->waiting != NULL && d->waiting->unacked < batch ? d->waiting : NULL;
}

void demand_take(struct demand *d, struct pull *p)
{
    d->changes++;
    p->left--;
    p->unacked++;
    dequeue(d, p);
    if (p->left > 0)
        enqueue(d, p);
}

void demand_give_back(struct demand *d, struct pull *p)
{
    if (p == NULL)
        return;
    d->changes++;
    p->unacked--;
    p->left++;
    if (!p->queued)
        enqueue(d, p);
}

void demand_ended(struct demand *d, struct pull *p)
{
    d->changes++;
    if (p != NULL && --p->unacked == 0 && !p->queued)
        free(p);
}

void demand_withdrawn(struct demand *d)
{
    d->changes++;
    if (d->undelivered > 0)
        d->undelivered--;
}

int64_t demand_grantable(struct demand *d, int64_t batch, int64_t limit, int64_t now_ns)
{
    int64_t sum = 0;
    for (const struct pull *p = d->waiting; p != NULL && sum < limit; p = p->next) {
        int64_t room = batch - p->unacked;
        if (p->expires_ns > now_ns && room > 0)
            sum += room < p->left ? room : p->left;
    }
    return sum < limit ? sum : limit;
}

void demand_reconcile(struct demand *d, int64_t waiting, int64_t undelivered, int64_t batch,
                      int64_t now_ns)
{
    if (undelivered > 0 && waiting > 0)
        return; /* the server is just bringing the two together: neither number holds */
    d->undelivered = undelivered;
    while (d->count > waiting)
        drop(d, d->waiting);
    while (d->count < waiting && add(d, batch, saturate_add(now_ns, UNHEARD_NS), false) != NULL)
        ;
}

void demand_forget(struct demand *d)
{
    d->changes++;
    d->undelivered = 0;
    while (d->waiting != NULL)
        drop(d, d->waiting);
}
