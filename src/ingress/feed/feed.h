/* One due or spilled message, from the moment the feeder has it until its source message is acked
 * or given back. feed_moves.h says what is done when; this is what does it. A message has one
 * question at a time under way. Lock of the loop held in every call. */
#ifndef AX_INGRESS_FEED_FEED_H
#define AX_INGRESS_FEED_FEED_H

#include <nats/nats.h>
#include <stdint.h>

#include "ingress/feed/feed_moves.h"
#include "task/names.h"

struct feeder;
struct firing;
struct crowd_pool;
struct pool_held;

struct feed {
    struct feed *prev, *next; /* feeder.c: the list of its state */
    struct feeder *feeder;
    natsMsg *msg;          /* owned */
    struct firing *firing; /* of a recurring task; NULL: an ordinary one (owned) */
    struct feed_facts facts;
    struct crowd_pool *crowd; /* its pool in the window; NULL: not counted */
    struct pool_held *held;   /* its place in the queue while it is on its way there */
    char pool[NAME_MAX_CHARS + 1];
    bool asked;      /* a question is under way */
    bool fed;        /* the queue has it */
    uint64_t number; /* order of arrival */
    uint32_t attempt;
    int64_t lease_ns;      /* monotonic: when the lease was renewed last */
    int64_t wait_until_ns; /* monotonic; FEED_WAITING: when to come back */
    char id[TASK_ID_CHARS + 1];
};

/* msg (taken) of the feeder's source. NULL: no memory, and msg is still the caller's. */
struct feed *feed_new(struct feeder *f, natsMsg *msg);
/* Reads its task: TASK, NO_TASK or NO_MEMORY. d may have ended when this returns. */
void feed_start(struct feed *d);
/* event came: makes the move for it. d may have ended when this returns. */
void feed_event(struct feed *d, enum feed_event event);

#endif
