/* Firings of recurring tasks. The server stores every firing of a schedule as a message under
 * ax.due.…, which the feeder brings into its queue under an id of its own; one task of each firing,
 * and none while the last one is unfinished. What the last one was is a record in KV_AX_DONE,
 * written by compare-and-set, so that instances agree. Lock of the loop held in every call. */
#ifndef AX_INGRESS_FEED_CRON_FIRING_H
#define AX_INGRESS_FEED_CRON_FIRING_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "ingress/feed/firing_moves.h"
#include "task/cron.h"
#include "task/task.h"

struct ingress;

enum cron_firing_result {
    CRON_FIRING_GO,   /* publish it */
    CRON_FIRING_SKIP, /* the last one is unfinished */
    CRON_FIRING_RETRY /* not known: ask again in a moment */
};

/* While a firing is being claimed: the firing before it. */
struct firing_claim {
    struct firing_facts facts;
    void (*cb)(void *arg, enum cron_firing_result result);
    void *arg;
    uint64_t record_seq;          /* of the record; 0: none */
    char task[TASK_ID_CHARS + 1]; /* the last firing's: its task, … */
    char priority[NAME_MAX_CHARS + 1];
    uint64_t seq; /* … and due message */
};

/* One firing while the feeder has it. */
struct firing {
    struct ingress *ing;
    char schedule[TASK_ID_CHARS + 1];
    char id[TASK_ID_CHARS + 1]; /* of the task */
    char key[CRON_KEY_MAX];
    char pool[NAME_MAX_CHARS + 1];
    char priority[NAME_MAX_CHARS + 1];
    uint64_t seq;    /* of the due message */
    int64_t time_ns; /* when it was stored */
    struct firing_claim claim;
};

/* Fills in *f from a due message (t: what it says). seq, time_ns: of the message in AX_LATER. */
void cron_firing_init(struct firing *f, struct ingress *ing, const struct task *t, natsMsg *due,
                      uint64_t seq, int64_t time_ns);
/* Asks whether the last firing's task is unfinished, and if not makes f the last one, so that of
 * two instances with two firings one goes and the other skips. cb exactly once, never before this
 * returns. False: no room, try again. */
bool cron_firing_claim(struct firing *f, void (*cb)(void *arg, enum cron_firing_result result),
                       void *arg);
/* Makes t, read from the due message, the firing's task. */
void cron_firing_to_task(const struct firing *f, struct task *t);

#endif
