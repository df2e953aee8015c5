/* A priority as ingress sees it: its queue stream, whether that is full and how fast it drains,
 * whether tasks of it wait in the spill, and the two feeders that bring tasks back. A queue is
 * never freed, since submissions in flight point to it; it is revived when a priority of its name
 * returns. Lock held in every call. */
#ifndef AX_INGRESS_QUEUE_QUEUE_H
#define AX_INGRESS_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "bus/provision/priorities.h"
#include "ingress/ingress.h"
#include "ingress/queue/drain.h"
#include "ingress/queue/queue_room.h"
#include "stats/metrics.h"

struct feeder;
struct shares;

struct queue {
    struct queue *next;
    struct ingress *ing;
    struct priority p; /* as last read */
    bool here;         /* the server has it now */
    struct drain drain;
    bool asking; /* a stream info is under way */
    int64_t asked_ns;
    bool spilling; /* tasks of this priority wait in AX_SPILL */
    /* the spill is nearly empty: new tasks wait for a moment, or it would never be */
    bool holding;
    int64_t hold_until_ns;
    /* spill publishes observed; a count of "none left" older than the last one does not hold */
    uint64_t spill_observed;
    uint64_t spill_observed_at_ask;
    struct loop_timer spill_timer, sample_timer;
    struct feeder *due, *spill;
    int64_t foreign_due_ns; /* foreign.c, monotonic: not looked at before */
    struct shares *shares;  /* NULL: it was never full for a group */
    struct queue_fill fill;
    struct pool_shares *pools; /* NULL: nobody asked for room yet */
    struct {
        struct metric *submitted, *accepted, *busy, *spilled, *over_share, *over_pool_share;
    } count;
    struct {
        struct metric *tasks, *limit, *is_spilling;
    } gauge;
};

struct queue *queue_find(struct ingress *ing, const char *name);
/* Brings the queues in line with what the server has. */
void queues_update(struct ingress *ing, const struct priorities *ps);
/* "high, normal, low": the priorities there are. Returns buf. */
char *queues_list(const struct ingress *ing, char *buf, size_t cap);
void queues_reconnected(struct ingress *ing);
/* Stops taking from AX_LATER and AX_SPILL. */
void queues_close(struct ingress *ing);
/* Messages the feeders hold. */
int queues_in_flight(const struct ingress *ing);

/* Reads how full the queue is, unless that is under way. */
void queue_sample(struct queue *q);
/* The queue refused a task: when the producer should try again. Keeps the measurement fresh. */
int64_t queue_hint_ms(struct queue *q);
/* The same for a group that room is being made for: soon, unless nothing leaves the queue at
 * all. */
int64_t queue_hint_soon_ms(struct queue *q);
/* A task of this priority was put into the spill, by us or somebody else. */
void queue_spilled(struct queue *q);

#endif
