/* Pull requests of `ax work`: as many tasks are asked for as there are free slots. Belongs to the
 * loop's thread. */
#ifndef AX_CLI_WORK_PULLS_H
#define AX_CLI_WORK_PULLS_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

#define PULLS_MAX 64

struct pull {
    uint64_t number;
    int left; /* tasks that it may still bring */
    int64_t due_ms;
};
/* Zero-initialise, then set nc, inbox and subject. */
struct pulls {
    natsConnection *nc;     /* borrowed */
    const char *inbox;      /* borrowed; statuses arrive on <inbox>.<number> */
    char subject[128];      /* $JS.API.CONSUMER.MSG.NEXT.… */
    int64_t batch_max;      /* tasks that one request may ask for; 0: any number */
    int64_t expires_max_ms; /* how long one may wait; 0: for any time */
    int asked;              /* tasks asked for that have not arrived */
    int open_count;
    struct pull open[PULLS_MAX]; /* oldest first */
    uint64_t numbers;            /* the last number given */
    int64_t not_before_ms;       /* no request before (clock_now_ms) */
    struct log_gate refused;
    bool suspended; /* no request until the consumer is known to exist */
};

/* Asks for as many tasks as there are free slots, but not for fewer than step, so that requests
 * stay few. */
void pulls_want(struct pulls *p, int free_slots, int step);
/* A task arrived. */
void pulls_got(struct pulls *p);
/* A status message arrived on <inbox>.<number>. True: the server refused the request, pulls are
 * suspended, and the caller asks whether the consumer exists. */
bool pulls_status(struct pulls *p, uint64_t number, natsMsg *msg);
/* Forgets requests that should have expired at the server without a status. True: there were some,
 * and the caller asks whether the consumer exists. */
bool pulls_expire(struct pulls *p);
/* The server has forgotten all requests. */
void pulls_reset(struct pulls *p);

#endif
