/* Leadership of a pool: a lease in the bucket AX_LEASES, taken, renewed and given up by
 * compare-and-set on its revision (docs/design/leadership.md). As leases by Gray and Cheriton
 * ("Leases: an efficient fault-tolerant mechanism", SOSP 1989): no clocks are compared, only
 * durations measured, each on its own machine.
 *
 * The leader holds its lease for ttl from the moment it *sent* the renewal; another dispatcher
 * takes it when it has seen it unchanged for ttl from the moment it *heard* of it, or when the
 * server has dropped it, which happens ttl after it was *stored*. So the old leader has stopped
 * before the new one starts, whatever the messages took, unless it sleeps in between its look at
 * the clock and its write: then the rules of docs/design/attempts.md keep tasks safe.
 *
 * What is heard on $KV.AX_LEASES.> is a hint (refused writes are heard as well); what is stored
 * decides. Loop lock. */
#ifndef AX_DISPATCH_LEAD_LEADERSHIP_H
#define AX_DISPATCH_LEAD_LEADERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "task/peer/lease.h"

struct pool;

enum leadership_state {
    LEADERSHIP_NONE,   /* another leads, or nobody */
    LEADERSHIP_ASKING, /* the write that takes it is under way */
    LEADERSHIP_HELD,
    /* held; nothing new is begun, and it is given up as soon as what is under way has ended */
    LEADERSHIP_LEAVING,
};

struct leadership {
    struct pool *pool;
    enum leadership_state state;
    bool known;          /* `stored` and `seq` are what the bucket holds, as far as we know */
    bool pending;        /* a read or write is under way */
    struct lease stored; /* holder "": free */
    uint64_t seq;        /* revision of `stored`; 0: nothing there */
    int64_t seen_ns;     /* monotonic: since when `stored` is known to stand */
    int64_t read_ns;     /* monotonic: last look at the bucket */
    struct lease heard;  /* the last one heard that was not ours */
    int64_t heard_ns;
    struct lease sent; /* ours, written last */
    int64_t sent_ns;   /* monotonic: when */
    int64_t until_ns;  /* HELD, LEAVING: leader until then */
    /* LEAVING: since when; NONE: when we gave it up, so that others go first */
    int64_t left_ns;
};

void leadership_init(struct leadership *l, struct pool *p);
/* Takes, renews, gives up, or notices the loss: pool_lead and pool_abandon are called from here.
 * Every ttl / 20. */
void leadership_tick(struct leadership *l);
/* Cheap: only notices that the time is over. Before anything is done with what came from
 * outside. */
void leadership_check(struct leadership *l, int64_t now_ns);
/* A write to the lease was heard. */
void leadership_heard(struct leadership *l, const struct lease *heard);
/* Monotonic: from when on it may be taken, by what is known of it (while it is known and not
 * ours). */
int64_t leadership_free_since(const struct leadership *l);
/* Gives it up in good order. */
void leadership_leave(struct leadership *l);
/* Held, or being taken: counts for the even spread. */
bool leadership_counts(const struct leadership *l);

#endif
