/* The groups of a pool (Ax-Group): what each may run at a time and how often it may start, and
 * whose turn it is in each priority (docs/design/groups.md). A group is here while a task of it
 * is held or runs, for five seconds after, and until its bucket is full again; nothing is kept of
 * those that were. Tasks that name no group take their turns as one of default weight, and have no
 * limits.
 *
 * A task that waits is in the line of its group in its priority; a line is in the ring of turns
 * while it has a task that may start. A line whose group is at its limit is out of it until
 * something ends or a token comes: nobody goes round asking. Loop lock. */
#ifndef AX_DISPATCH_FAIR_GROUPS_H
#define AX_DISPATCH_FAIR_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "bus/loop.h"
#include "dispatch/fair/turns.h"
#include "dispatch/rate/bucket.h"
#include "dispatch/rate/unanswered.h"
#include "task/names.h"

struct order_slot;
struct pool;
struct queue;
struct attempt;

/* Tasks of one group that wait in one priority. */
struct group_queue {
    struct turn turn;
    struct queue *queue;
    struct group *group;         /* NULL: of the tasks that name none */
    struct attempt *head, *tail; /* by line_prev, group_queue_next */
    int64_t waiting;
    struct order_slot *first, *last; /* ordered tasks, see ordered.h: */
    struct pending_retry *pending_retries;
    int64_t blocking; /* blockers that have not ended */
    /* runs that have had their turn there and are not over: 1 but for what was adopted */
    int64_t released;
    int64_t stuck_ns;         /* monotonic: since when nothing has moved */
    int64_t attempts;         /* of the group in this priority, whatever their state */
    struct group_queue *next; /* group->queues */
};

struct group {
    struct pool *pool;
    char name[GROUP_MAX_BYTES + 1];
    struct bucket bucket;
    struct unanswered unanswered;
    int64_t running;            /* being handed over, or with a worker */
    int64_t idle_ns;            /* monotonic: since when there are none */
    int64_t attempts;           /* that name it, whatever their state */
    struct group_queue *queues; /* one for each priority in which it has had a task */
    struct loop_timer timer;    /* a token, or the bucket is full */
    UT_hash_handle hh;
};

/* An attempt's place in line: groups.c, and ordered.c for slot and released. */
struct attempt_turn {
    struct group *group;       /* NULL: it names none */
    bool counted;              /* counts as running in group->running */
    bool token;                /* holds a token of the group's bucket */
    struct group_queue *queue; /* staged: where it waits for its turn, by prev and next */
    struct attempt *prev, *next;
    struct order_slot *slot; /* of an ordered task: in the order of its group */
    bool released;           /* it has had its turn there */
};

/* Its line in this queue; NULL: it has had no task there. */
struct group_queue *group_queue_of(const struct group *g, const struct queue *q);
/* The same, made with its group when it is not there. NULL: out of memory. */
struct group_queue *groups_queue(struct queue *q, const char *group);
/* r names this group, which is made when it is not there. False: out of memory. */
bool groups_join(struct attempt *r, const char *name);
/* r is over; it may have no group. */
void groups_leave(struct attempt *r);
/* The pool is led, again perhaps: what the groups that are still here have started meanwhile we do
 * not know. */
void groups_lead(struct pool *p);
/* The pool's settings have changed. */
void groups_settings(struct pool *p);

/* r waits in its line (front: before all others of it) / does not any more, without having had a
 * turn. */
void group_queue_add(struct attempt *r, bool front);
void group_queue_remove(struct attempt *r);
/* The task whose turn it is in this queue; NULL: none that may start. */
struct attempt *group_queue_next(const struct queue *q);
/* r, which group_queue_next named, is taken: its turn is had, and it counts as running, with a
 * token of its group. */
void group_queue_take(struct attempt *r);
/* r counts as running: it was found in AX_WORK. */
void groups_began(struct attempt *r);
/* It does not run any more. */
void groups_ended(struct attempt *r);
/* Its start is stored, or nothing is known of it any more: its token is used. */
void groups_use_token(struct attempt *r);
/* It was not started after all: its token goes back. */
void groups_return(struct attempt *r);

#endif
