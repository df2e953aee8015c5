/* Which dispatchers exist, and how many pools each should lead (docs/design/leadership.md). Each
 * dispatcher announces itself in the bucket AX_LEASES (ax.v1.Dispatcher, renewed like a lease).
 * Free pools go to the dispatchers that lead fewer than their even share. A dispatcher that leads
 * more than its share gives up one pool after another. Loop lock. */
#ifndef AX_DISPATCH_LEAD_ASSIGNMENT_H
#define AX_DISPATCH_LEAD_ASSIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "bus/loop.h"
#include "bus/wire.h"
#include "task/peer/lease.h"
#include "task/peer/presence.h"

struct dispatch;
struct leadership;

struct member {
    struct presence presence;
    int64_t observed_ns; /* monotonic: its last announcement */
    bool live;           /* announced itself to us; else it was only found in the bucket, and may
                          * have died since */
    UT_hash_handle hh;   /* by presence.name */
};

struct assignment {
    struct member *others; /* hash by name */
    bool started;          /* the bucket was read: the others are known */
    bool leaving;
    int64_t published_ns; /* monotonic: our last announcement */
    int64_t changed_ns;   /* monotonic: when a dispatcher last came or went */
    int64_t released_ns;  /* monotonic: when we last gave up a pool for an even share */
    struct loop_timer timer;
    struct loop_later announce;
};

/* Reads which dispatchers exist, then begins to take pools. */
void assignment_start(struct dispatch *d);
/* A message on $KV.AX_LEASES.> (borrowed) was received. */
void assignment_observe(struct dispatch *d, const char *subject, natsMsg *msg);
/* This dispatcher should take this free pool now. now_ns: monotonic. */
bool assignment_wants(struct dispatch *d, const struct leadership *l, int64_t now_ns);
/* The number of pools that we lead has changed: announces it. */
void assignment_changed(struct dispatch *d);
/* A pool was added: reads its lease at once. */
void assignment_kick(struct dispatch *d);
/* Another dispatcher of this name is running: it has announced itself within its ttl. */
bool assignment_is_live(const struct dispatch *d, const char *name);
/* How many other dispatchers exist. */
int assignment_others(const struct dispatch *d);
/* Stopping: gives up all pools. assignment_has_left: all of them are given up, or their leases will
 * run out. */
void assignment_leave(struct dispatch *d);
bool assignment_has_left(const struct dispatch *d);

/* The even share of `pools` among `members` (>= 1): each leads at most cap and at least floor
 * pools. Pure. */
int assignment_cap(int pools, int members);
int assignment_floor(int pools, int members);

#endif
