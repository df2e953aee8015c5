/* How fast a queue drains, and so when it is worth asking again. Fed with "messages ever removed"
 * (last sequence minus messages stored), which rises with every finished task whatever comes in at
 * the other end. Pure; the caller passes the time. */
#ifndef AX_INGRESS_QUEUE_DRAIN_H
#define AX_INGRESS_QUEUE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#define DRAIN_HINT_MIN_MS 50
#define DRAIN_HINT_MAX_MS 60000
#define DRAIN_HINT_FIRST_MS 250 /* while nothing has been measured */

struct drain {
    uint64_t removed;  /* at the last sample */
    int64_t sample_ns; /* monotonic; 0: none yet */
    int64_t moved_ns;  /* when the count was last seen to rise */
    double per_s;      /* smoothed; < 0: not measured */
    /* busy answers since the last sample: each is a producer that will try again */
    uint32_t refused;
};

void drain_init(struct drain *d);
/* A count that falls (stream recreated) starts the measurement afresh. Samples closer than 200 ms
 * are ignored. */
void drain_sample(struct drain *d, uint64_t removed, int64_t now_ns);
/* Nothing has left the queue for 2 s. */
bool drain_stands(const struct drain *d, int64_t now_ns);
/* Counts one refusal and says when to try again, DRAIN_HINT_MIN_MS … DRAIN_HINT_MAX_MS. */
int64_t drain_hint_ms(struct drain *d, int64_t now_ns);

#endif
