#include "ingress/feed/feed_moves.h"

#define ACK_TRIES 3

#define F(name) FEED_##name
#define IF(name) FEED_IF_##name
#define DO(name) FEED_DO_##name
#define ALWAYS FEED_ALWAYS

static const struct move rows[] = {
    {F(NEW), F(TASK), ALWAYS, F(READY), DO(QUEUE_UP), 0},
    {F(NEW), F(NO_TASK), ALWAYS, F(ACKING), DO(ACK), 0},
    {F(NEW), F(SWEPT), ALWAYS, F(ENDED), DO(GIVE_BACK), 0},
    {F(NEW), F(NO_MEMORY), ALWAYS, F(ENDED), DO(GIVE_BACK), 0},

    {F(READY), F(TURN), IF(UNCLAIMED), F(CLAIMING), DO(CLAIM), 0},
    {F(READY), F(TURN), ALWAYS, F(PUBLISHING), DO(PUBLISH), 0},
    {F(READY), F(STOPPED), ALWAYS, F(ENDED), DO(GIVE_BACK), 0},
    /* Of a schedule's firings one waits at most; an ordinary task is kept, here or at its source.
     */
    {F(READY), F(NO_PLACE), IF(UNEXAMINED), F(EXAMINING), DO(LOOK_EARLIER), 0},
    {F(READY), F(NO_PLACE), ALWAYS, F(ASIDE), DO(SET_ASIDE), 0},
    {F(READY), F(CROWDED), ALWAYS, F(ENDED), DO(GIVE_WAY), 0},

    {F(ASIDE), F(DUE), ALWAYS, F(READY), DO(QUEUE_UP), 0},
    {F(ASIDE), F(CROWDED), ALWAYS, F(ENDED), DO(GIVE_WAY), 0},
    {F(ASIDE), F(STOPPED), ALWAYS, F(ENDED), DO(GIVE_BACK), 0},

    {F(EXAMINING), F(FOUND), ALWAYS, F(ACKING), DO(ACK), 0},
    {F(EXAMINING), F(NOT_FOUND), ALWAYS, F(READY), DO(QUEUE_UP), 0},
    {F(EXAMINING), F(NO_ANSWER), ALWAYS, F(WAITING), DO(WAIT_ERROR), 0},
    {F(EXAMINING), F(NOT_ASKED), ALWAYS, F(WAITING), DO(WAIT_TICK), 0},

    {F(CLAIMING), F(GO), ALWAYS, F(READY), DO(QUEUE_UP), 0},
    {F(CLAIMING), F(SKIP), ALWAYS, F(ACKING), DO(ACK), 0},
    {F(CLAIMING), F(NO_ANSWER), ALWAYS, F(WAITING), DO(WAIT_ERROR), 0},
    {F(CLAIMING), F(NOT_ASKED), ALWAYS, F(WAITING), DO(WAIT_TICK), 0},

    {F(PUBLISHING), F(STORED), ALWAYS, F(ACKING), DO(ACK), 4},
    {F(PUBLISHING), F(EXISTS), ALWAYS, F(LOOKING), DO(LOOK), 4},
    {F(PUBLISHING), F(FULL), ALWAYS, F(READY), DO(QUEUE_UP), 4},
    {F(PUBLISHING), F(REFUSED), ALWAYS, F(WAITING), DO(WAIT_ERROR), 0},
    {F(PUBLISHING), F(NO_ROOM), ALWAYS, F(READY), DO(QUEUE_UP), 0},
    {F(PUBLISHING), F(NOT_ASKED), ALWAYS, F(WAITING), DO(WAIT_ERROR), 0},

    /* An earlier attempt is just being released: to ack now would lose the task. Not found: it has
     * just been released. */
    {F(LOOKING), F(FOUND), ALWAYS, F(ACKING), DO(ACK), 4},
    {F(LOOKING), F(FOUND_EARLIER), ALWAYS, F(WAITING), DO(WAIT_EARLIER), 4},
    {F(LOOKING), F(NOT_FOUND), ALWAYS, F(READY), DO(QUEUE_UP), 4},
    {F(LOOKING), F(NO_ANSWER), ALWAYS, F(WAITING), DO(WAIT_ERROR), 0},
    {F(LOOKING), F(NOT_ASKED), ALWAYS, F(WAITING), DO(WAIT_ERROR), 0},

    {F(WAITING), F(DUE), ALWAYS, F(READY), DO(QUEUE_UP), 0},
    {F(WAITING), F(STOPPED), ALWAYS, F(ENDED), DO(GIVE_BACK), 0},

    /* An ack that is not heard: the message is redelivered, and finds its task in the queue, or
     * done. */
    {F(ACKING), F(ACKED), ALWAYS, F(ENDED), DO(FORGET), 0},
    {F(ACKING), F(NO_ANSWER), IF(TRIES_LEFT), MOVES_STAY, DO(ACK), 0},
    {F(ACKING), F(NO_ANSWER), ALWAYS, F(ENDED), DO(FORGET), 0},
    {F(ACKING), F(NOT_ASKED), ALWAYS, F(ENDED), DO(ACK_UNHEARD), 0},
};

static bool holds(unsigned condition, const void *facts)
{
    const struct feed_facts *f = facts;
    switch (condition) {
    case IF(UNCLAIMED):
        return f->unclaimed;
    case IF(UNEXAMINED):
        return f->unexamined;
    default:
        return f->acks < ACK_TRIES;
    }
}

#define X(name, text) text,
static const char *const states[] = {FEED_STATES(X)};
static const char *const events[] = {FEED_EVENTS(X)};
static const char *const conditions[] = {FEED_CONDITIONS(X)};
static const char *const actions[] = {FEED_ACTIONS(X)};
#undef X

static uint16_t row_index[FEED_STATE_COUNT * FEED_EVENT_COUNT];

struct moves *feed_moves_table(void)
{
    static struct moves table = {
        .name = "feed",
        .rows = rows,
        .count = sizeof(rows) / sizeof(rows[0]),
        .states = {states, FEED_STATE_COUNT},
        .events = {events, FEED_EVENT_COUNT},
        .conditions = {conditions, FEED_CONDITION_COUNT},
        .actions = {actions, FEED_ACTION_COUNT},
        .holds = holds,
        .index = row_index,
    };
    return &table;
}

const struct move *feed_moves_step(struct moves *m, struct feed_facts *f, enum feed_event event)
{
    enum feed_state was = f->state;
    const struct move *row = moves_find(m, was, event, f);
    if (row == NULL)
        return NULL;
    if (row->to != MOVES_STAY)
        f->state = row->to;
    f->acks += row->action == DO(ACK);
    if (event == F(GO))
        f->unclaimed = false;
    if (was == F(EXAMINING) && event == F(NOT_FOUND))
        f->unexamined = false;
    return row;
}
