/* What AX's durable consumers look like and what is repaired of them: the rules, without asking
 * anybody. Everything that is not named here stays as an operator set it. Pure. */
#ifndef AX_BUS_PROVISION_CONSUMER_PLAN_H
#define AX_BUS_PROVISION_CONSUMER_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bus/consumer_info.h"
#include "bus/provision/priorities.h"
#include "task/names.h"

#define CONSUMER_PLAN_NAME_MAX (NAME_MAX_CHARS + sizeof("feeder-"))

struct consumer_plan {
    char stream[64];
    char name[CONSUMER_PLAN_NAME_MAX];
    char filter[SUBJECT_MAX_CHARS];
    int64_t ack_wait_ns;
    int max_deliver;     /* -1: unlimited */
    int max_ack_pending; /* -1: unlimited */
    bool keeps_ack_wait; /* ack_wait is brought back when it was changed */
    bool keeps_work;     /* a queue's: `kept` is what its metadata is to keep */
    bool is_made_again;  /* the one on AX_WORK: to be created, and others of its pool exist */
    /* Settings of the one on AX_WORK that an operator gave it (consumer_kept.h); NULL: none are
     * known. Borrowed. */
    const json_t *kept;
};

/* A pool's consumer on AX_WORK: every attempt is delivered once. */
void consumer_plan_work(struct consumer_plan *c, const char *pool);
/* Its consumer on the stream of a priority; work_ack_wait_ns: that of the one on AX_WORK as it is
 * now; kept: what is to be kept of it (borrowed). The queue message's lease outlives the worker's
 * heartbeat timeout by a tenth, at least a second, so that the time-out is seen on AX_WORK before
 * the queue message is redelivered. */
void consumer_plan_queue(struct consumer_plan *c, const struct priority *pr, const char *pool,
                         int64_t work_ack_wait_ns, const json_t *kept);
/* "feeder-<priority>" on AX_LATER and on AX_SPILL. */
void consumer_plan_feeder(struct consumer_plan *c, const char *stream, const char *priority);

/* The configuration to create it with; NULL: out of memory. */
json_t *consumer_plan_config(const struct consumer_plan *c);

/* It has a backoff, which replaces its ack wait: that is to be put back to what is kept. */
bool consumer_plan_has_backoff(const struct consumer_info *info);

/* The configuration to update an existing one with, and in line (at most cap bytes) what that
 * changes: max_deliver and a backoff are put back in every one, since a message that was delivered
 * often enough would stand for good. NULL: nothing is to be changed, or out of memory. */
json_t *consumer_plan_repair(const struct consumer_plan *c, const struct consumer_info *info,
                             char *line, size_t cap);

#endif
