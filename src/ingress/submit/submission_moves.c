#include "ingress/submit/submission_moves.h"

#define ROUNDS_MAX 3           /* looks everywhere for a task that was there and is gone again */
#define REPLACED_ROUNDS_MAX 20 /* schedules stored by others at the same moment */

/* Short names for the rows below. */
#define S(name) SUBMISSION_##name
#define IF(name) SUBMISSION_IF_##name
#define DO(name) SUBMISSION_DO_##name
#define ALWAYS SUBMISSION_ALWAYS
#define ANY MOVES_ANY
#define STAY MOVES_STAY

static const struct move rows[] = {
    /* Its checks, then every place that may have its key. */
    {S(NEW), S(VALID), IF(RECURRING), S(SCHEDULE), DO(LOOK), 0},
    {S(NEW), S(VALID), IF(MAYBE_DONE), S(RECORD), DO(LOOK), 0},
    {S(NEW), S(VALID), IF(MAYBE_LATER), S(LATER), DO(LOOK), 0},
    {S(NEW), S(VALID), IF(MAYBE_DEAD), S(DEAD), DO(LOOK), 0},
    {S(NEW), S(VALID), ALWAYS, S(PLACE), DO(CHOOSE), 0},
    {S(NEW), S(UNREADY), ALWAYS, STAY, DO(WAIT), 0},

    {S(RECORD), S(FOUND), ALWAYS, S(ENDED), DO(KNOWN_DONE), 0},
    {S(RECORD), S(NOT_FOUND), IF(UNREAD), STAY, DO(WAIT), 0},
    {S(RECORD), S(NOT_FOUND), IF(MAYBE_LATER), S(LATER), DO(LOOK), 0},
    {S(RECORD), S(NOT_FOUND), IF(MAYBE_DEAD), S(DEAD), DO(LOOK), 0},
    {S(RECORD), S(NOT_FOUND), ALWAYS, S(PLACE), DO(CHOOSE), 0},
    {S(RECORD), S(UNREADY), ALWAYS, STAY, DO(WAIT), 0},

    {S(LATER), S(FOUND), ALWAYS, S(ENDED), DO(KNOWN_LATER), 0},
    {S(LATER), S(NOT_FOUND), IF(MAYBE_DEAD), S(DEAD), DO(LOOK), 0},
    {S(LATER), S(NOT_FOUND), ALWAYS, S(PLACE), DO(CHOOSE), 0},

    {S(DEAD), S(FOUND), ALWAYS, S(ENDED), DO(KNOWN_DEAD), 0},
    {S(DEAD), S(NOT_FOUND), ALWAYS, S(PLACE), DO(CHOOSE), 0},

    /* Where it goes. Only the queue stream itself refuses an id that it has, so every other place
     * is taken after a look at the queue. Tasks that are in the spill go first; an ordered task
     * goes past them, since the spill does not keep the order of a group. */
    {S(PLACE), S(IN_SHARE), ALWAYS, S(ENQUEUE), DO(STORE), 0},
    {S(PLACE), S(OVER_SHARE), IF(UNLOOKED), S(QUEUE), DO(LOOK), 0},
    {S(PLACE), S(OVER_SHARE), IF(REPLIES), S(ENDED), DO(BUSY_SHARE), 0},
    {S(PLACE), S(OVER_SHARE), IF(ORDERED), S(BURY), DO(BURY_ORDERED), 0},
    {S(PLACE), S(OVER_SHARE), ALWAYS, S(SPILL), DO(STORE), 0},
    {S(PLACE), S(OVER_POOL_SHARE), IF(UNLOOKED), S(QUEUE), DO(LOOK), 0},
    {S(PLACE), S(OVER_POOL_SHARE), IF(ORDERED_REPLIES), S(ENDED), DO(BUSY_POOL), 0},
    {S(PLACE), S(OVER_POOL_SHARE), IF(ORDERED), S(BURY), DO(BURY_ORDERED), 0},
    {S(PLACE), S(OVER_POOL_SHARE), IF(TO_BE_TOLD), S(ENDED), DO(BUSY_POOL), 0},
    {S(PLACE), S(OVER_POOL_SHARE), IF(SPILL_KEPT), S(BURY), DO(BURY_FULL), 0},
    {S(PLACE), S(OVER_POOL_SHARE), ALWAYS, S(SPILL), DO(STORE), 0},
    {S(PLACE), S(UNREADY), ALWAYS, STAY, DO(WAIT), 0},
    {S(PLACE), S(SPILLING), IF(ORDERED), S(ENQUEUE), DO(STORE), 0},
    {S(PLACE), S(SPILLING), IF(UNLOOKED), S(QUEUE), DO(LOOK), 0},
    {S(PLACE), S(SPILLING), ALWAYS, S(SPILL), DO(STORE), 0},
    {S(PLACE), S(SPILL_ENDING), IF(ORDERED), S(ENQUEUE), DO(STORE), 0},
    {S(PLACE), S(SPILL_ENDING), ALWAYS, STAY, DO(WAIT), 0},
    {S(PLACE), S(NOT_DUE), IF(UNLOOKED), S(QUEUE), DO(LOOK), 0},
    {S(PLACE), S(NOT_DUE), ALWAYS, S(DELAY), DO(STORE), 0},

    {S(QUEUE), S(FOUND), ALWAYS, S(WORK), DO(LOOK), 0},
    {S(QUEUE), S(NOT_FOUND), ALWAYS, S(PLACE), DO(CHOOSE), 0},

    {S(WORK), S(FOUND), ALWAYS, S(ENDED), DO(KNOWN_RUNNING), 0},
    {S(WORK), S(NOT_FOUND), ALWAYS, S(ENDED), DO(KNOWN_QUEUED), 0},

    /* Stored, or why not. Accepted is said after a PubAck, or when what exists is ours. Where
     * another submission of its key was there first, and has ended or failed since the look, the
     * servers store this one beside that: it is known, and dispatch drops it. */
    {S(ENQUEUE), S(STORED), IF(NOW_DONE), S(CHECK_RECORD), DO(LOOK), 0},
    {S(ENQUEUE), S(STORED), IF(NOW_LATER), S(CHECK_LATER), DO(LOOK), 0},
    {S(ENQUEUE), S(STORED), IF(NOW_DEAD), S(CHECK_DEAD), DO(LOOK), 0},
    {S(ENQUEUE), S(STORED), ALWAYS, S(ENDED), DO(ACCEPT_QUEUED), 0},
    {S(ENQUEUE), S(EXISTS), IF(OWN_ID), S(ENDED), DO(ACCEPT_QUEUED), 0},
    {S(ENQUEUE), S(EXISTS), IF(MAYBE_OURS), S(COMPARE_QUEUE), DO(LOOK), 0},
    {S(ENQUEUE), S(EXISTS), ALWAYS, S(WORK), DO(LOOK), 0},
    {S(ENQUEUE), S(FULL), IF(ORDERED_REPLIES), S(ENDED), DO(BUSY_QUEUE), 0},
    {S(ENQUEUE), S(FULL), IF(ORDERED), S(BURY), DO(BURY_ORDERED), 0},
    {S(ENQUEUE), S(FULL), IF(TO_BE_TOLD), S(ENDED), DO(BUSY_QUEUE), 0},
    {S(ENQUEUE), S(FULL), ALWAYS, S(SPILL), DO(STORE), 0},

    {S(SPILL), S(STORED), IF(NOW_DONE), S(CHECK_RECORD), DO(LOOK), 0},
    {S(SPILL), S(STORED), IF(NOW_LATER), S(CHECK_LATER), DO(LOOK), 0},
    {S(SPILL), S(STORED), IF(NOW_DEAD), S(CHECK_DEAD), DO(LOOK), 0},
    {S(SPILL), S(STORED), ALWAYS, S(ENDED), DO(ACCEPT_SPILLED), 0},
    {S(SPILL), S(EXISTS), ALWAYS, S(COMPARE_SPILL), DO(LOOK), 0},
    {S(SPILL), S(FULL), IF(REPLIES), S(ENDED), DO(BUSY_SPILL), 0},
    {S(SPILL), S(FULL), ALWAYS, S(BURY), DO(BURY_FULL), 0},

    {S(DELAY), S(STORED), IF(NOW_DONE), S(CHECK_RECORD), DO(LOOK), 0},
    {S(DELAY), S(STORED), IF(NOW_DEAD), S(CHECK_DEAD), DO(LOOK), 0},
    {S(DELAY), S(STORED), ALWAYS, S(ENDED), DO(ACCEPT_LATER), 0},
    {S(DELAY), S(EXISTS), ALWAYS, S(COMPARE_LATER), DO(LOOK), 0},

    {S(CHECK_RECORD), S(FOUND), ALWAYS, S(ENDED), DO(KNOWN_DONE), 0},
    {S(CHECK_RECORD), S(OURS), ALWAYS, S(ENDED), DO(ACCEPT_STORED), 0},
    {S(CHECK_RECORD), S(NOT_FOUND), IF(NOW_LATER), S(CHECK_LATER), DO(LOOK), 0},
    {S(CHECK_RECORD), S(NOT_FOUND), IF(NOW_DEAD), S(CHECK_DEAD), DO(LOOK), 0},
    {S(CHECK_RECORD), S(NOT_FOUND), ALWAYS, S(ENDED), DO(ACCEPT_STORED), 0},
    {S(CHECK_LATER), S(FOUND), ALWAYS, S(ENDED), DO(KNOWN_LATER), 0},
    {S(CHECK_LATER), S(OURS), ALWAYS, S(ENDED), DO(ACCEPT_STORED), 0},
    {S(CHECK_LATER), S(NOT_FOUND), IF(NOW_DEAD), S(CHECK_DEAD), DO(LOOK), 0},
    {S(CHECK_LATER), S(NOT_FOUND), ALWAYS, S(ENDED), DO(ACCEPT_STORED), 0},
    {S(CHECK_DEAD), S(FOUND), ALWAYS, S(ENDED), DO(KNOWN_DEAD), 0},
    {S(CHECK_DEAD), S(OURS), ALWAYS, S(ENDED), DO(ACCEPT_STORED), 0},
    {S(CHECK_DEAD), S(NOT_FOUND), ALWAYS, S(ENDED), DO(ACCEPT_STORED), 0},

    /* The id exists: is it ours? Gone again: finished, or on its way to another attempt. Look
     * everywhere before storing it anew. */
    {S(COMPARE_QUEUE), S(OURS), IF(NOW_DONE), S(CHECK_RECORD), DO(LOOK), 0},
    {S(COMPARE_QUEUE), S(OURS), IF(NOW_LATER), S(CHECK_LATER), DO(LOOK), 0},
    {S(COMPARE_QUEUE), S(OURS), IF(NOW_DEAD), S(CHECK_DEAD), DO(LOOK), 0},
    {S(COMPARE_QUEUE), S(OURS), ALWAYS, S(ENDED), DO(ACCEPT_QUEUED), 0},
    {S(COMPARE_QUEUE), S(FOUND), ALWAYS, S(WORK), DO(LOOK), 0},
    {S(COMPARE_QUEUE), S(NOT_FOUND), IF(ROUNDS_OVER), S(ENDED), DO(KNOWN_QUEUED), 0},
    {S(COMPARE_QUEUE), S(NOT_FOUND), IF(KEYED), S(RECORD), DO(LOOK), 0},
    {S(COMPARE_QUEUE), S(NOT_FOUND), ALWAYS, S(PLACE), DO(CHOOSE), 0},
    {S(COMPARE_SPILL), S(OURS), IF(NOW_DONE), S(CHECK_RECORD), DO(LOOK), 0},
    {S(COMPARE_SPILL), S(OURS), IF(NOW_LATER), S(CHECK_LATER), DO(LOOK), 0},
    {S(COMPARE_SPILL), S(OURS), IF(NOW_DEAD), S(CHECK_DEAD), DO(LOOK), 0},
    {S(COMPARE_SPILL), S(OURS), ALWAYS, S(ENDED), DO(ACCEPT_SPILLED), 0},
    {S(COMPARE_SPILL), S(FOUND), ALWAYS, S(ENDED), DO(KNOWN_SPILLED), 0},
    {S(COMPARE_SPILL), S(NOT_FOUND), IF(ROUNDS_OVER), S(ENDED), DO(KNOWN_QUEUED), 0},
    {S(COMPARE_SPILL), S(NOT_FOUND), IF(KEYED), S(RECORD), DO(LOOK), 0},
    {S(COMPARE_SPILL), S(NOT_FOUND), ALWAYS, S(PLACE), DO(CHOOSE), 0},
    {S(COMPARE_LATER), S(OURS), IF(NOW_DONE), S(CHECK_RECORD), DO(LOOK), 0},
    {S(COMPARE_LATER), S(OURS), IF(NOW_DEAD), S(CHECK_DEAD), DO(LOOK), 0},
    {S(COMPARE_LATER), S(OURS), ALWAYS, S(ENDED), DO(ACCEPT_LATER), 0},
    {S(COMPARE_LATER), S(FOUND), ALWAYS, S(ENDED), DO(KNOWN_LATER), 0},
    {S(COMPARE_LATER), S(NOT_FOUND), IF(ROUNDS_OVER), S(ENDED), DO(KNOWN_QUEUED), 0},
    {S(COMPARE_LATER), S(NOT_FOUND), IF(KEYED), S(RECORD), DO(LOOK), 0},
    {S(COMPARE_LATER), S(NOT_FOUND), ALWAYS, S(PLACE), DO(CHOOSE), 0},

    /* Refused without a reply subject: it is kept as a dead letter, whatever that takes. */
    {S(BURY), S(STORED), ALWAYS, S(ENDED), DO(END), 0},
    {S(BURY), S(EXISTS), ALWAYS, S(ENDED), DO(END), 0},
    {S(BURY), S(FULL), ALWAYS, STAY, DO(RETRY), 0},
    {S(BURY), S(REFUSED), ALWAYS, STAY, DO(RETRY), 0},

    /* A recurring task: the schedule of its key is replaced by compare-and-set; then schedules that
     * it had under other priorities are removed, one after the other. */
    {S(SCHEDULE), S(NOT_FOUND), ALWAYS, S(REPLACE), DO(STORE), 0},
    {S(SCHEDULE), S(FOUND), ALWAYS, S(REPLACE), DO(STORE), 0},
    {S(SCHEDULE), S(OURS), ALWAYS, S(OLDER), DO(LOOK), 0},
    {S(SCHEDULE), S(SAME), ALWAYS, S(OLDER), DO(LOOK), 0},
    {S(REPLACE), S(STORED), ALWAYS, S(OLDER), DO(LOOK), 0},
    {S(REPLACE), S(EXISTS), IF(REPLACED_OFTEN), S(SCHEDULE), DO(RETRY), 0},
    {S(REPLACE), S(EXISTS), ALWAYS, S(SCHEDULE), DO(WAIT), 0},
    {S(OLDER), S(FOUND), IF(STAYED), S(REMOVE), DO(RETRY), 0},
    {S(OLDER), S(FOUND), ALWAYS, S(REMOVE), DO(REMOVE), 0},
    {S(OLDER), S(NOT_FOUND), IF(SAME), S(ENDED), DO(KNOWN_LATER), 0},
    {S(OLDER), S(NOT_FOUND), ALWAYS, S(ENDED), DO(ACCEPT_LATER), 0},
    {S(REMOVE), S(REMOVED), ALWAYS, S(OLDER), DO(LOOK), 0},

    /* The same in every state. */
    {ANY, S(REFUSED), IF(REPLIES), S(ENDED), DO(REFUSE), 0},
    {ANY, S(REFUSED), ALWAYS, S(BURY), DO(BURY_REFUSED), 0},
    {ANY, S(NO_ROOM), ALWAYS, STAY, DO(DEFER), 0},
    {ANY, S(NO_ANSWER), ALWAYS, STAY, DO(RETRY), 0},
    {ANY, S(RESUME), IF(WAITS), STAY, DO(RESUME), 0},
    {ANY, S(OVERDUE), IF(REPLIES), STAY, DO(UNKNOWN), 0},
};

static bool holds(unsigned condition, const void *facts)
{
    const struct submission_facts *f = facts;
    switch (condition) {
    case IF(RECURRING):
        return f->recurring;
    case IF(MAYBE_DONE):
        return f->maybe_done;
    case IF(MAYBE_LATER):
        return f->maybe_later;
    case IF(MAYBE_DEAD):
        return f->maybe_dead;
    case IF(UNREAD):
        return f->unread;
    case IF(UNLOOKED):
        return f->keyed && !f->looked;
    case IF(REPLIES):
        return f->replies;
    case IF(ORDERED):
        return f->ordered;
    case IF(ORDERED_REPLIES):
        return f->ordered && f->replies;
    case IF(TO_BE_TOLD):
        return f->replies && !f->spills;
    case IF(SPILL_KEPT):
        return f->spill_kept;
    case IF(OWN_ID):
        return !f->keyed && f->seq_known;
    case IF(MAYBE_OURS):
        return f->sent_again || !f->seq_known;
    case IF(ROUNDS_OVER):
        return f->rounds > ROUNDS_MAX;
    case IF(REPLACED_OFTEN):
        return f->rounds >= REPLACED_ROUNDS_MAX;
    case IF(KEYED):
        return f->keyed;
    case IF(STAYED):
        return f->stayed;
    case IF(SAME):
        return f->same;
    case IF(WAITS):
        return f->waits;
    case IF(NOW_DONE):
        return f->now_done;
    case IF(NOW_LATER):
        return f->now_later;
    case IF(NOW_DEAD):
        return f->now_dead;
    default:
        return true;
    }
}

#define X(name, text) text,
static const char *const states[] = {SUBMISSION_STATES(X)};
static const char *const events[] = {SUBMISSION_EVENTS(X)};
static const char *const conditions[] = {SUBMISSION_CONDITIONS(X)};
static const char *const actions[] = {SUBMISSION_ACTIONS(X)};
#undef X

static uint16_t row_index[SUBMISSION_STATE_COUNT * SUBMISSION_EVENT_COUNT];

struct moves *submission_moves_table(void)
{
    static struct moves table = {
        .name = "submission",
        .rows = rows,
        .count = sizeof(rows) / sizeof(rows[0]),
        .states = {states, SUBMISSION_STATE_COUNT},
        .events = {events, SUBMISSION_EVENT_COUNT},
        .conditions = {conditions, SUBMISSION_CONDITION_COUNT},
        .actions = {actions, SUBMISSION_ACTION_COUNT},
        .holds = holds,
        .index = row_index,
    };
    return &table;
}

static bool is_comparing(enum submission_state state)
{
    return state == S(COMPARE_QUEUE) || state == S(COMPARE_SPILL) || state == S(COMPARE_LATER);
}

static bool makes_wait(enum submission_action action)
{
    return action == DO(DEFER) || action == DO(WAIT) || action == DO(RETRY);
}

/* What the event says beyond the state that it leads to. */
static void learn(struct submission_facts *f, enum submission_state was,
                  enum submission_event event)
{
    if (was == S(QUEUE) && event == S(NOT_FOUND))
        f->looked = true;
    if (was == S(SCHEDULE) && event == S(SAME))
        f->same = true;
    if (is_comparing(was) && event == S(NOT_FOUND)) {
        f->maybe_done = f->maybe_later = f->maybe_dead = f->keyed;
        f->looked = false;
    }
}

const struct move *submission_moves_step(struct moves *m, struct submission_facts *f,
                                         enum submission_event event)
{
    enum submission_state was = f->state;
    if (f->waits && event != S(RESUME) && event != S(OVERDUE))
        return NULL;
    bool again = (is_comparing(was) && event == S(NOT_FOUND)) ||
                 (was == S(REPLACE) && event == S(EXISTS));
    f->rounds += again;
    const struct move *row = moves_find(m, was, event, f);
    if (row == NULL) {
        f->rounds -= again;
        return NULL;
    }
    if (row->to != MOVES_STAY)
        f->state = row->to;
    learn(f, was, event);
    if (event != S(OVERDUE))
        f->waits = makes_wait(row->action);
    return row;
}
