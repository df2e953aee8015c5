#include "ingress/feed/firing_moves.h"

#define ROUNDS_MAX 10

#define F(name) FIRING_##name
#define DO(name) FIRING_DO_##name
#define ALWAYS FIRING_ALWAYS

static const struct move rows[] = {
    {F(RECORD), F(NO_RECORD), ALWAYS, F(CLAIM), DO(WRITE), 0},
    {F(RECORD), F(OWN), ALWAYS, F(ENDED), DO(GO), 0},
    {F(RECORD), F(NEWER), ALWAYS, F(ENDED), DO(SKIP), 0},
    {F(RECORD), F(LAST), ALWAYS, F(DUE), DO(LOOK), 0},

    {F(DUE), F(FOUND), ALWAYS, F(ENDED), DO(SKIP), 0},
    {F(DUE), F(NOT_FOUND), ALWAYS, F(SPILL), DO(LOOK), 0},
    {F(SPILL), F(FOUND), ALWAYS, F(ENDED), DO(SKIP), 0},
    {F(SPILL), F(NOT_FOUND), ALWAYS, F(QUEUE), DO(LOOK), 0},
    {F(QUEUE), F(FOUND), ALWAYS, F(ENDED), DO(SKIP), 0},
    {F(QUEUE), F(NOT_FOUND), ALWAYS, F(LATER), DO(LOOK), 0},
    {F(LATER), F(FOUND), ALWAYS, F(ENDED), DO(SKIP), 0},
    {F(LATER), F(NOT_FOUND), ALWAYS, F(QUEUE_AGAIN), DO(LOOK), 0},
    {F(QUEUE_AGAIN), F(FOUND), ALWAYS, F(ENDED), DO(SKIP), 0},
    {F(QUEUE_AGAIN), F(NOT_FOUND), ALWAYS, F(CLAIM), DO(WRITE), 0},

    {F(CLAIM), F(WRITTEN), ALWAYS, F(ENDED), DO(GO), 0},
    {F(CLAIM), F(CHANGED), FIRING_IF_OFTEN, F(ENDED), DO(RETRY), 0},
    {F(CLAIM), F(CHANGED), ALWAYS, F(RECORD), DO(LOOK), 0},

    {MOVES_ANY, F(NO_ANSWER), ALWAYS, F(ENDED), DO(RETRY), 0},
};

static bool holds(unsigned condition, const void *facts)
{
    const struct firing_facts *f = facts;
    return condition == FIRING_IF_OFTEN && f->rounds >= ROUNDS_MAX;
}

#define X(name, text) text,
static const char *const states[] = {FIRING_STATES(X)};
static const char *const events[] = {FIRING_EVENTS(X)};
static const char *const conditions[] = {FIRING_CONDITIONS(X)};
static const char *const actions[] = {FIRING_ACTIONS(X)};
#undef X

static uint16_t row_index[FIRING_STATE_COUNT * FIRING_EVENT_COUNT];

struct moves *firing_moves_table(void)
{
    static struct moves table = {
        .name = "firing",
        .rows = rows,
        .count = sizeof(rows) / sizeof(rows[0]),
        .states = {states, FIRING_STATE_COUNT},
        .events = {events, FIRING_EVENT_COUNT},
        .conditions = {conditions, FIRING_CONDITION_COUNT},
        .actions = {actions, FIRING_ACTION_COUNT},
        .holds = holds,
        .index = row_index,
    };
    return &table;
}

const struct move *firing_moves_step(struct moves *m, struct firing_facts *f,
                                     enum firing_event event)
{
    bool again = f->state == F(CLAIM) && event == F(CHANGED);
    f->rounds += again;
    const struct move *row = moves_find(m, f->state, event, f);
    if (row == NULL)
        f->rounds -= again;
    else if (row->to != MOVES_STAY)
        f->state = row->to;
    return row;
}
