/* Order within a group (Ax-Ordered; docs/design/groups.md): the ordered tasks of a
 * group in one priority run one at a time, in the order in which their queue took them, and one
 * that failed holds up those behind it until its retry is through. Loop lock. */
#ifndef AX_DISPATCH_FAIR_ORDERED_H
#define AX_DISPATCH_FAIR_ORDERED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "bus/loop.h"
#include "task/names.h"

struct group_queue;
struct pool;
struct queue;
struct rebuild;
struct attempt;

/* A queue message of an ordered task that has not ended. */
struct order_slot {
    uint64_t seq; /* of the message */
    /* a further attempt: it was accepted before all first ones that are there */
    bool retry;
    bool ended;          /* while a survey is under way: what that has read may be older */
    uint32_t rebuild;    /* the last survey that saw it, or during which it came */
    struct attempt *run; /* NULL: it is not with us (yet) */
    struct group_queue *group_queue;
    struct order_slot *prev, *next; /* line->first … last, in their order */
    UT_hash_handle hh;              /* queue->slots */
};

/* A task whose next attempt waits in AX_LATER, or is on its way from there. */
struct pending_retry {
    char id[TASK_ID_CHARS + 1];
    bool ended;
    uint32_t rebuild;
    UT_hash_handle hh; /* line->pending_retries */
};

/* What is known of the order in a pool; zero-initialise. ordered.c. */
struct pool_order {
    bool known;                      /* of all that waits and is ordered */
    bool invalid;                    /* it changed while it was being rebuilt */
    struct rebuild *rebuild;         /* under way */
    uint32_t rebuilds, led_rebuilds; /* begun; at the time we began to lead */
    struct loop_timer timer;
    int checks; /* under way */
};

/* r, of an ordered task, has arrived or was found in AX_WORK (running); its group is set. False:
 * out of memory. */
bool ordered_join(struct attempt *r, bool running);
/* r is over and its queue message gone. r->end.next_attempt: a retry was written. No-op for a task
 * that is not ordered. */
void ordered_leave(struct attempt *r);
/* r is over, but its queue message is still there and comes again: its place is kept. */
void ordered_keep(struct attempt *r);
/* r waits: true: not yet its turn, it is kept back and goes into its line (group_queue_add) later.
 */
bool ordered_holds(struct attempt *r);
/* Something about the order of this queue may have escaped us: nothing ordered starts before it has
 * been looked at. */
void ordered_invalidate(struct queue *q);
/* A delivery with this consumer sequence: a gap is a message that somebody else got, or nobody. */
void ordered_heard(struct queue *q, uint64_t consumer_seq);
/* Is something of this line on its way, so that it must not be forgotten? */
bool ordered_remembers(const struct group_queue *l);
/* Once a second: looks after lines that have waited long for somebody who may never come. */
void ordered_tick(struct pool *p);
/* The pool is given up: forgets all of it. */
void ordered_forget(struct pool *p);

#endif
