/* What the server says of AX_WORK/<pool>, the consumer that a pool's workers pull from. Loop's lock
 * held. */
#ifndef AX_DISPATCH_POOL_WORK_CONSUMER_H
#define AX_DISPATCH_POOL_WORK_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct pool;

/* AX_WORK/<pool>, the consumer that workers pull from, as last read. */
struct work_consumer {
    bool provisioned;     /* all consumers of the pool exist */
    char why_failed[160]; /* why some of them cannot be made; "": they can, as far as is known */
    int64_t max_ack_pending, ack_wait_ns;
    int64_t followed_ns;    /* the ack wait that the queues' consumers follow; 0: not known */
    uint64_t delivered_seq; /* AX_WORK sequence delivered last */
    bool paused;            /* by an operator */
    bool asking;
    uint64_t changes; /* of the demand, when it was asked for */
    int64_t told_ns;  /* monotonic: last answer */
};

/* Asks for the consumer's info, unless an answer is due already. */
void work_consumer_read(struct pool *p);
/* The consumers of the pool exist, or cannot be made: p says why. */
void work_consumer_provisioned(struct pool *p);
void work_consumer_failed(struct pool *p, const struct problem *problem);
/* Settings or the consumer changed: is the pool paused? */
void work_consumer_set_paused(struct pool *p);
/* What pauses it, for people; NULL: nothing does. */
const char *work_consumer_paused_by(const struct pool *p);

#endif
