/* Firings of recurring tasks. The server stores every firing of a schedule as a message under
 * ax.due.…, which the feeder brings into its queue under an id of its own. Lock of the loop held in
 * every call. */
#ifndef AX_INGRESS_FEED_CRON_FIRING_H
#define AX_INGRESS_FEED_CRON_FIRING_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "task/cron.h"
#include "task/task.h"

struct ingress;

enum cron_word {
    CRON_GO,   /* publish it */
    CRON_SKIP, /* the last one is unfinished */
    CRON_LATER /* could not be told: ask again in a moment */
};

/* One firing while the feeder has it. */
struct firing {
    char schedule[TASK_ID_CHARS + 1];
    char id[TASK_ID_CHARS + 1]; /* of the task */
    char key[CRON_KEY_MAX];
    char pool[NAME_MAX_CHARS + 1];
    char priority[NAME_MAX_CHARS + 1];
    uint64_t seq;    /* of the due message */
    int64_t time_ns; /* when it was stored */
    bool claimed;    /* it may be published */
    /* while it is being claimed */
    struct ingress *ing;
    void (*cb)(void *arg, enum cron_word word);
    void *arg;
    uint64_t record_seq;
    char last[TASK_ID_CHARS + 1]; /* the firing before: its task, … */
    char last_priority[NAME_MAX_CHARS + 1];
    uint64_t last_seq; /* … and due message */
    int place, rounds;
};

/* Fills in *f from a due message (t: what it says); claimed when the schedule's overlap is
 * queue. */
void cron_firing_init(struct firing *f, struct ingress *ing, const struct task *t, natsMsg *due,
                      uint64_t seq, int64_t time_ns);
/* Asks whether the last firing's task is unfinished, and if not makes f the last one, so that of
 * two instances with two firings one goes and the other skips. cb exactly once, never before this
 * returns. False: no room, try again. */
bool cron_claim(struct firing *f, void (*cb)(void *arg, enum cron_word word), void *arg);
/* Makes t, read from the due message, the firing's task. */
void cron_to_task(const struct firing *f, struct task *t);

#endif
