/* The tasks of one group that wait in one priority, in their order. A group queue takes part in the
 * turns of its priority while its first task may start: it leaves them while its group is at a
 * limit, and comes back when an attempt of the group ends or a token comes, so nothing has to poll
 * groups that cannot start. The tasks that name no group share one group queue in each priority,
 * which has no limits. Loop lock. */
#ifndef AX_DISPATCH_FAIR_GROUP_QUEUE_H
#define AX_DISPATCH_FAIR_GROUP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/fair/ordered.h"
#include "dispatch/fair/turns.h"

struct attempt;
struct group;
struct queue;

struct group_queue {
    struct turn turn;
    struct queue *queue;
    struct group *group;        /* NULL: of the tasks that name none */
    struct attempt *head;       /* attempts that wait, by turn.prev and turn.next */
    struct ordered_state order; /* of its ordered tasks */
    int64_t attempts;           /* of the group in this priority, whatever their state */
    struct group_queue *next;   /* group->queues */
};

/* The queue of g in this priority; NULL: g has had no task there. */
struct group_queue *group_queue_of(const struct group *g, const struct queue *q);
/* The same, made if it does not exist. NULL: out of memory. */
struct group_queue *group_queue_make(struct group *g, struct queue *q);
/* Takes part in the turns, or leaves them, by what is known of its group now. */
void group_queue_settle(struct group_queue *gq);

/* a waits in its group queue; front: before all others. */
void group_queue_add(struct attempt *a, bool front);
/* a does not wait any more, without having had a turn. No-op if it does not wait. */
void group_queue_remove(struct attempt *a);
/* The attempt whose turn it is in this priority; NULL: none may start. */
struct attempt *group_queue_next(const struct queue *q);
/* a, which group_queue_next returned, has its turn: it counts as running from now on, with a token
 * of its group if that has a rate. */
void group_queue_take(struct attempt *a);

#endif
