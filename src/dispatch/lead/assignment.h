/* Which dispatchers there are, and who of them should lead how many pools. Each says in the bucket
 * AX_LEASES that it is there (ax.v1.Dispatcher, renewed like a lease); free pools go to those that
 * lead fewer than their even share, and who leads more than that gives one up after the other
 * (docs/design/leadership.md). Loop lock. */
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
    int64_t heard_ns;  /* monotonic */
    bool live;         /* heard, not only found in the bucket: it may have died since */
    UT_hash_handle hh; /* by presence.name */
};

struct assignment {
    struct member *others;
    bool started; /* the bucket was read: the others are known */
    bool leaving;
    int64_t published_ns; /* our presence */
    int64_t changed_ns;   /* when somebody came or went */
    int64_t released_ns;  /* when we gave up a pool for the sake of evenness */
    struct loop_timer timer;
    struct loop_later announce;
};

/* Reads who is there, then starts to take pools. */
void assignment_start(struct dispatch *d);
/* A message on $KV.AX_LEASES.> was heard. */
void assignment_heard(struct dispatch *d, const char *subject, natsMsg *msg);
/* May this free pool be taken by us now? */
bool assignment_wants(struct dispatch *d, const struct leadership *l, int64_t now_ns);
/* What we lead has changed: tells the others. */
void assignment_changed(struct dispatch *d);
/* A pool came: has its lease looked at. */
void assignment_kick(struct dispatch *d);
/* Another dispatcher of this name was heard a moment ago. */
bool assignment_is_live(const struct dispatch *d, const char *name);
/* How many others there are. */
int assignment_others(const struct dispatch *d);
/* Stopping: gives up everything. assignment_has_left: all of it is given up, or will run out. */
void assignment_leave(struct dispatch *d);
bool assignment_has_left(const struct dispatch *d);

/* The even share of `pools` among `members`, at most (cap) and at least (floor). members >= 1.
 * Pure. */
int assignment_cap(int pools, int members);
int assignment_floor(int pools, int members);

#endif
