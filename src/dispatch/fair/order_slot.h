/* The ordered tasks of a priority that have not ended: a slot for each queue message, found by its
 * sequence, and a list of them in each group queue, in the order in which they run. Loop lock. */
#ifndef AX_DISPATCH_FAIR_ORDER_SLOT_H
#define AX_DISPATCH_FAIR_ORDER_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct attempt;
struct group_queue;
struct queue;

struct order_slot {
    uint64_t seq; /* of the queue message */
    bool retry;   /* not a first attempt: it comes before all first attempts */
    /* Its queue message is gone, but a rebuild under way may have read it before: kept out of the
     * list, until the rebuild ends, so that it is not put there again. */
    bool ended;
    uint32_t rebuild;        /* the last rebuild that saw it, or during which it arrived */
    struct attempt *attempt; /* borrowed; NULL: not delivered to us (yet) */
    struct group_queue *group_queue;
    struct order_slot *prev, *next; /* group_queue->order.slots */
    UT_hash_handle hh;              /* queue->slots, by seq */
};

/* The slot of this sequence, made and put in its place in the order if it does not exist, and
 * marked as seen by the present rebuild. NULL: out of memory. */
struct order_slot *order_slot_put(struct group_queue *gq, uint64_t seq, bool retry);
/* Its message was redelivered although it had ended: it is in the order again. Else a no-op. */
void order_slot_revive(struct order_slot *s);
/* Its attempt is over and its message gone. */
void order_slot_end(struct order_slot *s);
/* Its message is gone without an attempt of ours. */
void order_slot_free(struct order_slot *s);
/* A rebuild has ended: frees the slots that ended, and those that it has not seen and that have no
 * attempt. */
void order_slot_tidy(struct queue *q);
/* Frees all slots of the priority. */
void order_slot_clear(struct queue *q);

#endif
