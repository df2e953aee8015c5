/* Which hand-offs of a pool were terminated by their worker, as far as AX_EVENTS knows: what a look
 * needs to tell a task that was finished from one that was given up, when the hand-off is gone and
 * nobody heard why (rule 7). Read when asked, once for all that ask meanwhile, from where the last
 * reading ended: a takeover asks for everything at once. Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_TERMINATIONS_H
#define AX_DISPATCH_ATTEMPT_TERMINATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct pool;
struct attempt;

struct termination {
    uint64_t work_seq;
    int64_t time_ns;
    char *reason;      /* "terminated[: <the worker's words>]" */
    UT_hash_handle hh; /* in order of reading: the oldest goes first */
};

struct attempt_list {
    struct attempt **list;
    size_t count, cap;
};

struct terminations {
    struct pool *pool;
    struct termination *known;
    uint64_t next_seq;           /* of AX_EVENTS: where to go on */
    struct attempt_list waiting; /* for the next reading */
    struct attempt_list asking;  /* whose reading is under way */
    bool reading, unread;
};

void terminations_init(struct terminations *t, struct pool *p);
/* The hand-off of a is gone: reads what has come since, then calls attempt_ask_terminated, which
 * may be before this returns. False: out of memory, nothing is called. */
bool terminations_ask(struct attempt *a);

#endif
