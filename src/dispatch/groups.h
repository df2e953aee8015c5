/* The groups of a pool (Ax-Group): what each may run at a time and how often it may start, and
 * whose turn it is in each priority (docs/design.md, "Groups"). A group is here while a task of it
 * is held or runs, for five seconds after, and until its bucket is full again; nothing is kept of
 * those that were. Tasks that name no group take their turns as one of default weight, and have no
 * limits.
 *
 * A task that waits is in the line of its group in its priority; a line is in the ring of turns
 * while it has a task that may start. A line whose group is at its limit is out of it until
 * something ends or a token comes: nobody goes round asking. Loop lock. */
#ifndef AX_DISPATCH_GROUPS_H
#define AX_DISPATCH_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bucket.h"
#include "core/hash.h"
#include "core/loop.h"
#include "core/names.h"
#include "dispatch/turns.h"
#include "dispatch/unanswered.h"

struct pool;
struct queue;
struct run;

/* Tasks of one group that wait in one priority. */
struct line {
    struct turn turn;
    struct queue *queue;
    struct group *group;     /* NULL: of the tasks that name none */
    struct run *head, *tail; /* by line_prev, line_next */
    int64_t waiting;
    struct place *first, *last; /* ordered tasks, see ordered.h: */
    struct blocker *blockers;
    int64_t blocking; /* blockers that have not ended */
    /* runs that have had their turn there and are not over: 1 but for what was adopted */
    int64_t released;
    int64_t stuck_ns;  /* monotonic: since when nothing has moved */
    int64_t runs;      /* of the group in this priority, whatever their state */
    struct line *next; /* group->lines */
};

struct group {
    struct pool *pool;
    char name[GROUP_MAX_BYTES + 1];
    struct bucket bucket;
    struct unanswered unanswered;
    int64_t running;         /* being handed over, or with a worker */
    int64_t idle_ns;         /* monotonic: since when there are none */
    int64_t runs;            /* that name it, whatever their state */
    struct line *lines;      /* one for each priority in which it has had a task */
    struct loop_timer timer; /* a token, or the bucket is full */
    UT_hash_handle hh;
};

/* Its line in this queue; NULL: it has had no task there. */
struct line *group_line(const struct group *g, const struct queue *q);
/* The same, made with its group when it is not there. NULL: out of memory. */
struct line *groups_line(struct queue *q, const char *group);
/* r names this group, which is made when it is not there. False: out of memory. */
bool groups_join(struct run *r, const char *name);
/* r is over; it may have no group. */
void groups_leave(struct run *r);
/* The pool is led, again perhaps: what the groups that are still here have started meanwhile we do
 * not know. */
void groups_lead(struct pool *p);
/* The pool's settings have changed. */
void groups_settings(struct pool *p);

/* r waits in its line (front: before all others of it) / does not any more, without having had a
 * turn. */
void line_add(struct run *r, bool front);
void line_remove(struct run *r);
/* The task whose turn it is in this queue; NULL: none that may start. */
struct run *line_next(const struct queue *q);
/* r, which line_next named, is taken: its turn is had, and it counts as running, with a token of
 * its group. */
void line_take(struct run *r);
/* r counts as running: it was found in AX_WORK. */
void groups_began(struct run *r);
/* It does not run any more. */
void groups_ended(struct run *r);
/* Its start is stored, or nothing is known of it any more: its token is used. */
void groups_use_token(struct run *r);
/* It was not started after all: its token goes back. */
void groups_return(struct run *r);

#endif
