/* Order within a group (Ax-Ordered; docs/design/groups.md): the ordered
 * tasks of a group in one priority run one at a time, in the order in which their queue took them.
 * One that failed holds up those behind it until its retry has run. What is known of that order is
 * a list of slots (order_slot.h) and a set of retries to come (pending_retry.h). It is built when
 * the pool is led, and again when something may have been missed (order_rebuild.h); what never
 * comes is found out by order_check.h. Loop lock. */
#ifndef AX_DISPATCH_FAIR_ORDERED_H
#define AX_DISPATCH_FAIR_ORDERED_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/loop.h"

struct attempt;
struct group_queue;
struct order_rebuild;
struct order_slot;
struct pending_retry;
struct pool;
struct queue;

/* The order in one group queue; part of struct group_queue. */
struct ordered_state {
    struct order_slot *slots; /* tasks that have not ended, in their order */
    struct pending_retry *pending_retries;
    int64_t pending; /* how many of pending_retries have not ended */
    /* Attempts whose turn in the order has come and that are not over: at most 1, not counting
     * those that were adopted. */
    int64_t released;
    int64_t still_ns; /* monotonic: since when nothing has happened to it */
};

/* What is known of the order in a pool; zero-initialise. */
struct pool_order {
    bool known;                      /* the order of everything ordered that waits is known */
    bool invalid;                    /* something was missed since the rebuild under way began */
    struct order_rebuild *rebuild;   /* under way; NULL: none */
    uint32_t rebuilds, led_rebuilds; /* begun so far; begun before this leadership */
    struct loop_timer timer;         /* the next rebuild */
    int checks;                      /* under way: order_check.c */
};

/* a, of an ordered task, has arrived, or was found in AX_WORK (running: true). Its group is set.
 * False: out of memory. */
bool ordered_join(struct attempt *a, bool running);
/* a is over and its queue message gone; a->end.next_attempt: a retry was written. No-op for a task
 * that is not ordered. */
void ordered_leave(struct attempt *a);
/* a is over, but its queue message is still stored and will be redelivered: its slot is kept. No-op
 * for a task that is not ordered. */
void ordered_keep(struct attempt *a);
/* a waits. True: its turn in the order has not come yet; once it does, a goes into its group queue
 * (group_queue_add), maybe before this returns. False: not ordered, or released before. */
bool ordered_holds(struct attempt *a);
/* Something about the order in this priority may have been missed: nothing ordered starts in the
 * pool before it is rebuilt. */
void ordered_invalidate(struct queue *q);
/* A message with this consumer sequence was delivered. A gap before it is a message that another
 * dispatcher got, or none: invalidates. */
void ordered_delivered(struct queue *q, uint64_t consumer_seq);
/* Something of this group queue is stored that is not held here: it must not be forgotten. */
bool ordered_remembers(const struct group_queue *gq);
/* The order is known now, or something that held it up is gone: lets the first task into the group
 * queue, if it may go. */
void ordered_release(struct group_queue *gq);
void ordered_release_all(struct pool *p);
/* The pool is given up: forgets everything. */
void ordered_forget(struct pool *p);

#endif
