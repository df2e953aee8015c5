/* Acks that were heard before their attempt is known here, or that do not fit what is known of it.
 * They wait by the AX_WORK sequence that their subject names, a few for each sequence: whoever may
 * ack in a pool can name any sequence, so the first or last one heard need not be the worker's.
 * Pure: the caller passes the time. Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_PENDING_ACKS_H
#define AX_DISPATCH_ATTEMPT_PENDING_ACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "bus/ack.h"
#include "dispatch/attempt/hand_off_time.h"

/* What a subject of $JS.ACK and its payload say, and when that was heard. */
struct heard_ack {
    uint64_t work_seq;
    int64_t stored_ns; /* when the server stored the hand-off, as the subject says */
    int64_t heard_ns;  /* monotonic: when the first one of this sequence and time was heard */
    bool refused;      /* it was counted as refused, and may still turn out to fit */
    struct ack_payload payload; /* payload.next is not kept */
};

struct pending_ack {
    uint64_t work_seq;
    struct heard_ack ack;
    struct pending_ack *prev, *next; /* others of this sequence, the oldest first */
    UT_hash_handle hh;               /* in order of insertion: the oldest goes first */
};

#define PENDING_ACKS_MAX 8192
#define PENDING_ACKS_OF_ONE_MAX 4 /* with one sequence */

/* Zero-initialise. */
struct pending_acks {
    struct pending_ack *by_seq;
    unsigned count; /* of all acks */
    uint64_t lost;  /* that could not be kept, or made room for others: counted */
};

/* Keeps a copy, in place of one of the same sequence and time, whose heard_ns stays. The oldest
 * ones go where there are too many; without memory this one is not kept: all of them are hints. */
void pending_acks_keep(struct pending_acks *p, const struct heard_ack *ack);
/* The first one of that sequence that fits t (offset_ns: as for hand_off_time_fits). NULL: none.
 * Borrowed. */
const struct heard_ack *pending_acks_find(const struct pending_acks *p, uint64_t work_seq,
                                          const struct hand_off_time *t, int64_t offset_ns);
/* Calls each for all of that sequence that do not fit t, which may change ack->refused. */
void pending_acks_each_misfit(struct pending_acks *p, uint64_t work_seq,
                              const struct hand_off_time *t, int64_t offset_ns,
                              void (*each)(void *arg, struct heard_ack *ack), void *arg);
/* Forgets all of that sequence. */
void pending_acks_drop(struct pending_acks *p, uint64_t work_seq);
/* Forgets sequences whose acks were all heard before before_ns; returns how many acks of those were
 * heard since since_ns and are not counted as refused. */
unsigned pending_acks_expire(struct pending_acks *p, int64_t before_ns, int64_t since_ns);
void pending_acks_forget(struct pending_acks *p);

#endif
