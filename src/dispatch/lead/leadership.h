/* Leadership of a pool: a lease in the bucket AX_LEASES, taken, renewed and given up by
 * compare-and-set on its revision (docs/design/leadership.md). It follows the leases of Gray and
 * Cheriton ("Leases: an efficient fault-tolerant mechanism", SOSP 1989): clocks are never compared;
 * only durations are measured, each on one machine.
 *
 * The leader holds its lease for ttl from the moment it *sent* the renewal. Another dispatcher
 * takes the lease when it has seen it unchanged for ttl from the moment it *received* the renewal,
 * or when the server has dropped it, ttl after it was *stored*. So the old leader stops before the
 * new one starts, however long messages take. The exception is a leader whose process stops between
 * reading the clock and writing: then the rules of docs/design/attempts.md keep tasks safe.
 *
 * A message observed on $KV.AX_LEASES.> is a hint, since refused writes are observed, too. What is
 * stored decides. Loop lock. */
#ifndef AX_DISPATCH_LEAD_LEADERSHIP_H
#define AX_DISPATCH_LEAD_LEADERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "task/peer/lease.h"

struct pool;

enum leadership_state {
    LEADERSHIP_NONE,   /* another leads, or nobody */
    LEADERSHIP_ASKING, /* the write that takes the lease is under way */
    LEADERSHIP_HELD,
    LEADERSHIP_LEAVING, /* held; nothing new begins, and it is given up once nothing is under way */
};

struct leadership {
    struct pool *pool;
    enum leadership_state state;
    bool known;            /* `stored` and `seq` are what the bucket holds, as far as we know */
    bool pending;          /* a read or write is under way */
    bool closed;           /* the pool was removed: nothing is taken or renewed */
    struct lease stored;   /* holder "": free */
    uint64_t seq;          /* revision of `stored`; 0: the bucket holds none */
    int64_t stands_ns;     /* monotonic: since when `stored` is known to be in the bucket */
    int64_t read_ns;       /* monotonic: when the bucket was last read */
    struct lease observed; /* the last write of another dispatcher that was observed */
    int64_t observed_ns;   /* monotonic: when */
    struct lease sent;     /* our last write */
    int64_t sent_ns;       /* monotonic: when */
    int64_t until_ns;      /* HELD, LEAVING, monotonic: we are the leader until then */
    /* monotonic: since when LEAVING; NONE: when we gave it up; 0: not, or another has had it since
     */
    int64_t left_ns;
};

void leadership_init(struct leadership *l, struct pool *p);
/* To be called every ttl / 20. Takes, renews or gives up the lease, or notices its loss; calls
 * pool_lead, pool_rest and pool_abandon. */
void leadership_tick(struct leadership *l);
/* Notices that the lease has run out, and calls pool_abandon then. Cheap: to be called before
 * anything that has arrived is handled. */
void leadership_check(struct leadership *l, int64_t now_ns);
/* A write to the lease was observed, by whom ever, stored or refused. */
void leadership_observe(struct leadership *l, const struct lease *observed);
/* Monotonic: from when on the lease may be taken. Only while `stored` is known and we do not
 * lead. */
int64_t leadership_free_since(const struct leadership *l);
/* Gives it up once nothing is under way, at the latest after two seconds. No-op unless HELD. */
void leadership_leave(struct leadership *l);
/* The pool was removed: gives it up at once, and takes it no more until leadership_open. */
void leadership_close(struct leadership *l);
void leadership_open(struct leadership *l);
/* It is held or being taken: counts towards this dispatcher's share of the pools. */
bool leadership_counts(const struct leadership *l);

#endif
