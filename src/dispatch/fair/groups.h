/* The groups of a pool (Ax-Group): how many tasks of each may run at a time, and how often it may
 * start one (docs/design/groups.md). A group is known while a task of it is held or runs, for five
 * seconds after that, and until its bucket is full again; nothing is kept of earlier groups. Tasks
 * that name no group have no such limits, and take turns like one group of default weight. Loop
 * lock. */
#ifndef AX_DISPATCH_FAIR_GROUPS_H
#define AX_DISPATCH_FAIR_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/rate/bucket.h"
#include "bus/loop.h"
#include "dispatch/fair/group_queue.h"
#include "dispatch/rate/unanswered.h"
#include "task/names.h"

struct attempt;
struct order_slot;
struct pool;
struct queue;

struct group {
    struct pool *pool;
    char name[GROUP_MAX_BYTES + 1];
    struct bucket bucket;
    struct unanswered unanswered;
    int64_t running;            /* attempts being handed off or with a worker */
    int64_t attempts;           /* attempts that name it, whatever their state */
    int64_t idle_ns;            /* monotonic: since when no attempt names it */
    struct group_queue *queues; /* one for each priority in which it has had a task */
    struct loop_timer timer;    /* a token comes, or it is time to forget the group */
    UT_hash_handle hh;          /* pool->groups, by name */
};

/* What an attempt's group knows of it. groups.c; queue, prev, next: group_queue.c; slot, released:
 * ordered.c. */
struct attempt_turn {
    struct group *group;       /* NULL: it names none */
    bool counted;              /* counts in group->running */
    bool token;                /* holds a token of the group's bucket */
    struct group_queue *queue; /* staged: where it waits for its turn; NULL: it does not */
    struct attempt *prev, *next;
    struct order_slot *slot; /* of an ordered task: in the order of its group */
    bool released;           /* ordered: its turn in that order has come */
};

/* The queue of the group of this name in a priority, made with its group if it does not exist.
 * NULL: out of memory. */
struct group_queue *groups_queue(struct queue *q, const char *name);
/* a names this group, which is made if it does not exist. False: out of memory. */
bool groups_join(struct attempt *a, const char *name);
/* a is over. No-op if it names no group. */
void groups_leave(struct attempt *a);
/* The pool is led from now on. What its groups have started under other leaders is not known, so
 * their buckets are empty. */
void groups_lead(struct pool *p);
/* The pool's settings have changed. */
void groups_settings(struct pool *p);

/* Neither its concurrency nor its rate keep the group from starting a task now. When only a token
 * is missing, its queues are settled again once that comes. */
bool groups_may_start(struct group *g);
/* The rest: no-ops for an attempt that names no group.
 * a has its turn: takes a token, if the group has a rate. */
void groups_take_token(struct attempt *a);
/* Its start is stored, or nothing is known of it any more: its token is used up. */
void groups_use_token(struct attempt *a);
/* It was not started after all: its token goes back. */
void groups_return(struct attempt *a);
/* a counts as running / does not any more. */
void groups_began(struct attempt *a);
void groups_ended(struct attempt *a);

#endif
