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
    int max_deliver;        /* -1: unlimited */
    int max_ack_pending;    /* -1: unlimited */
    bool keeps_max_deliver; /* max_deliver is brought back when it was changed */
    bool keeps_ack_wait;    /* and so is ack_wait */
};

/* A pool's consumer on AX_WORK: every attempt is delivered once. */
void consumer_plan_work(struct consumer_plan *c, const char *pool);
/* Its consumer on the stream of a priority; work_ack_wait_ns: that of the one on AX_WORK as it is
 * now. The queue message's lease outlives the worker's heartbeat timeout by a tenth, at least a
 * second, so that the time-out is seen on AX_WORK before the queue message is redelivered. */
void consumer_plan_queue(struct consumer_plan *c, const struct priority *pr, const char *pool,
                         int64_t work_ack_wait_ns);
/* "feeder-<priority>" on AX_LATER and on AX_SPILL. */
void consumer_plan_feeder(struct consumer_plan *c, const char *stream, const char *priority);

/* The configuration to create it with; NULL: out of memory. */
json_t *consumer_plan_config(const struct consumer_plan *c);

/* The configuration to update an existing one with, and in line (at most cap bytes) what that
 * changes; NULL: nothing is to be changed, or out of memory. */
json_t *consumer_plan_repair(const struct consumer_plan *c, const struct consumer_info *info,
                             char *line, size_t cap);

#endif
