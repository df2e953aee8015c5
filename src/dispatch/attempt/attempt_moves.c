#include "dispatch/attempt/attempt_moves.h"

#define S(name) (1ULL << ATTEMPT_##name)
#define ON(name) ATTEMPT_ON_##name
#define IS(name) ATTEMPT_IS_##name
#define TO(name) ATTEMPT_##name
#define STAYS ATTEMPT_STATE_COUNT
#define DO(name) ATTEMPT_DO_##name

/* Look at AX_WORK, each awaiting one answer. */
#define VERIFYING                                                                               \
    (S(VERIFYING_HAND_OFF) | S(VERIFYING_CONSUMER) | S(VERIFYING_STREAM) | S(VERIFYING_QUEUE) | \
     S(VERIFYING_TERMINATION))
/* On the way to a hand-off, each awaiting one answer. */
#define STARTING \
    (S(READING_DEAD) | S(CATCHING_UP) | S(READING_RECORD) | S(READING_CONTENT) | S(HANDING_OFF))
/* On the way to a retry or a dead letter, each awaiting one answer. */
#define FAILING                                                                            \
    (S(READING_OWN_LETTER) | S(READING_TASK) | S(WRITING_RETRY) | S(WRITING_DEAD_LETTER) | \
     S(READING_PLACE) | S(RELEASING))
#define AWAITING \
    (STARTING | VERIFYING | FAILING | S(VERIFYING_LEASE) | S(RECORDING) | S(CANCELLING))
#define CHOICES                                                                 \
    (S(CHOOSE_START) | S(CHOOSE_FRESH) | S(CHOOSE_RECORD) | S(CHOOSE_CONTENT) | \
     S(CHOOSE_FAILURE) | S(CHOOSE_NEXT) | S(CHOOSE_RELEASED) | S(CHOOSE_REPEAT))

/* clang-format off */
static const struct attempt_move table[] = {
    /* ---- it comes */
    {S(NEW), ON(DELIVERED), 0, 0, TO(WAITING), {DO(STAGE)}, 0},
    {S(NEW), ON(MALFORMED), 0, 0, TO(CHOOSE_FAILURE), {DO(DECIDE)}, 0},
    {S(NEW), ON(ADOPTED), 0, 0, TO(RUNNING), {0}, 8},
    {S(WAITING), ON(REDELIVERED), 0, 0, STAYS, {0}, 0},
    {S(WAITING), ON(GIVEN_UP), 0, 0, TO(GONE), {DO(NAK_LATER), DO(FORGET)}, 0},

    /* ---- its turn: has it ended before? */
    {S(WAITING), ON(TURN), 0, 0, TO(CHOOSE_START), {0}, 0},
    {S(CHOOSE_START), ON(STEP), IS(EXPIRED), 0, TO(CHOOSE_FAILURE), {DO(GIVE_BACK), DO(DECIDE)}, 0},
    {S(CHOOSE_START), ON(STEP), IS(REPEATED) | IS(FROM_BEFORE) | IS(HEARD), IS(EXPIRED), TO(READING_DEAD), {DO(READ_DEAD)}, 3},
    {S(CHOOSE_START), ON(STEP), IS(UNREAD), IS(EXPIRED) | IS(REPEATED) | IS(FROM_BEFORE) | IS(HEARD), TO(CATCHING_UP), {DO(CATCH_UP)}, 5},
    {S(CHOOSE_START), ON(STEP), 0, IS(EXPIRED) | IS(REPEATED) | IS(FROM_BEFORE) | IS(HEARD) | IS(UNREAD), TO(CHOOSE_CONTENT), {0}, 0},
    {S(READING_DEAD), ON(DEAD_NONE), 0, 0, TO(CHOOSE_FRESH), {0}, 0},
    {S(READING_DEAD), ON(DEAD_OWN), 0, 0, TO(RELEASING), {DO(GIVE_BACK), DO(DECIDE), DO(NOTE_WRITTEN), DO(RELEASE)}, 3},
    {S(READING_DEAD), ON(DEAD_KEY), 0, 0, TO(GONE), {DO(GIVE_BACK), DO(ACK_DROPPED), DO(FORGET)}, 5},
    {S(READING_DEAD), ON(DEAD_RETURNING), 0, 0, TO(GONE), {DO(GIVE_BACK), DO(NAK_DEAD), DO(KEEP_SLOT), DO(FORGET)}, 0},
    {S(CHOOSE_FRESH), ON(STEP), IS(REPEATED) | IS(UNREAD), 0, TO(CATCHING_UP), {DO(CATCH_UP)}, 5},
    {S(CHOOSE_FRESH), ON(STEP), 0, IS(REPEATED) | IS(UNREAD), TO(CHOOSE_RECORD), {0}, 0},
    {S(CATCHING_UP), ON(CAUGHT_UP), 0, 0, TO(CHOOSE_RECORD), {0}, 0},
    {S(CHOOSE_RECORD), ON(STEP), IS(REPEATED) | IS(HEARD), 0, TO(READING_RECORD), {DO(READ_RECORD)}, 5},
    {S(CHOOSE_RECORD), ON(STEP), 0, IS(REPEATED) | IS(HEARD), TO(CHOOSE_CONTENT), {0}, 0},
    {S(READING_RECORD), ON(RECORD_DONE), 0, 0, TO(GONE), {DO(GIVE_BACK), DO(ACK_DROPPED), DO(FORGET)}, 5},
    {S(READING_RECORD), ON(RECORD_NONE), IS(UNRECORDED), 0, TO(RECORDING), {DO(GIVE_BACK), DO(DECIDE), DO(RECORD)}, 5},
    {S(READING_RECORD), ON(RECORD_NONE), 0, IS(UNRECORDED), TO(CHOOSE_CONTENT), {0}, 0},
    {S(READING_RECORD), ON(RECORD_FREE), 0, 0, TO(CHOOSE_CONTENT), {0}, 0},

    /* ---- handing off */
    {S(CHOOSE_CONTENT), ON(STEP), IS(IN_MEMORY), 0, TO(HANDING_OFF), {DO(PUBLISH)}, 6},
    {S(CHOOSE_CONTENT), ON(STEP), 0, IS(IN_MEMORY), TO(READING_CONTENT), {DO(READ_CONTENT)}, 0},
    {S(READING_CONTENT), ON(CONTENT), 0, 0, TO(HANDING_OFF), {DO(PUBLISH)}, 6},
    {S(READING_CONTENT), ON(QUEUE_GONE), 0, 0, TO(GONE), {DO(GIVE_BACK), DO(DISORDER), DO(FORGET)}, 7},
    {S(HANDING_OFF), ON(STORED), IS(RETRY), 0, TO(RUNNING), {DO(BEGIN), DO(REVOKE_OLDER), DO(TAKE_PENDING)}, 6},
    {S(HANDING_OFF), ON(STORED), 0, IS(RETRY), TO(RUNNING), {DO(BEGIN), DO(TAKE_PENDING)}, 6},
    {S(HANDING_OFF), ON(DUPLICATE), 0, 0, TO(VERIFYING_HAND_OFF), {DO(BEGIN_AGAIN), DO(READ_HAND_OFF)}, 6},
    {S(HANDING_OFF), ON(TOO_LARGE), 0, 0, TO(CHOOSE_FAILURE), {DO(GIVE_BACK), DO(DECIDE)}, 0},
    {STARTING, ON(NO_ANSWER), 0, 0, TO(WAITING), {DO(PUT_BACK)}, 0},

    /* ---- running: what the worker says */
    {S(RUNNING), ON(ACK), 0, 0, TO(RECORDING), {DO(DECIDE), DO(RECORD)}, 0},
    {S(RUNNING), ON(NAK), 0, 0, TO(CHOOSE_FAILURE), {DO(DECIDE)}, 0},
    {S(RUNNING), ON(TERM), 0, 0, TO(CHOOSE_FAILURE), {DO(DECIDE)}, 0},
    {S(RUNNING), ON(PROGRESS), 0, 0, STAYS, {DO(RENEW)}, 0},
    {VERIFYING, ON(ACK), 0, 0, STAYS, {DO(KEEP_PENDING)}, 0},
    {VERIFYING, ON(NAK), 0, 0, STAYS, {DO(KEEP_PENDING)}, 0},
    {VERIFYING, ON(TERM), 0, 0, STAYS, {DO(KEEP_PENDING)}, 0},
    {FAILING | S(CANCELLING), ON(ACK), 0, 0, STAYS, {DO(HONOUR)}, 5},
    {S(LEFT) | S(VERIFYING_LEASE), ON(ACK), 0, IS(DONE), STAYS, {DO(HONOUR)}, 5},
    {S(LEFT) | S(VERIFYING_LEASE), ON(ACK), IS(DONE), 0, STAYS, {0}, 0},
    {S(RECORDING), ON(ACK), 0, 0, STAYS, {0}, 0},
    {FAILING | S(RECORDING) | S(CANCELLING) | S(LEFT) | S(VERIFYING_LEASE), ON(NAK), 0, 0, STAYS, {0}, 0},
    {FAILING | S(RECORDING) | S(CANCELLING) | S(LEFT) | S(VERIFYING_LEASE), ON(TERM), 0, 0, STAYS, {0}, 0},
    {VERIFYING | FAILING | S(RECORDING) | S(CANCELLING) | S(LEFT) | S(VERIFYING_LEASE), ON(PROGRESS), 0, 0, STAYS, {0}, 0},

    /* ---- running: what time and the server say */
    {S(RUNNING), ON(REDELIVERED), 0, 0, TO(VERIFYING_HAND_OFF), {DO(READ_HAND_OFF)}, 3},
    {S(RUNNING), ON(OVERDUE), 0, 0, TO(VERIFYING_HAND_OFF), {DO(READ_HAND_OFF)}, 3},
    {S(RUNNING), ON(MAX_DELIVERIES), 0, 0, TO(VERIFYING_HAND_OFF), {DO(END_ACTIVITY), DO(READ_HAND_OFF)}, 3},
    {AWAITING | S(LEFT), ON(MAX_DELIVERIES), 0, 0, STAYS, {0}, 0},
    {S(RUNNING), ON(OVERRAN), 0, 0, TO(CHOOSE_FAILURE), {DO(REVOKE), DO(DECIDE)}, 0},
    {VERIFYING, ON(OVERRAN), 0, 0, STAYS, {DO(LIMIT_AGAIN)}, 0},
    {(AWAITING & ~VERIFYING) | S(LEFT) | S(LOST), ON(OVERRAN), 0, 0, STAYS, {0}, 0},
    {S(RUNNING), ON(WORK_RECREATED), 0, 0, TO(LOST), {DO(LOSE)}, 7},
    {AWAITING | S(LEFT), ON(WORK_RECREATED), 0, 0, STAYS, {0}, 0},
    {S(RUNNING), ON(QUEUE_THERE), 0, 0, STAYS, {DO(TAKE_PENDING)}, 8},
    {S(RUNNING), ON(QUEUE_GONE), 0, 0, TO(GONE), {DO(REMOVE_HAND_OFF), DO(SUPERSEDE), DO(DISORDER), DO(FORGET)}, 1},
    {AWAITING, ON(REDELIVERED), 0, 0, STAYS, {0}, 0},

    /* ---- verifying: nothing is concluded from silence before AX_WORK was read */
    {S(VERIFYING_HAND_OFF), ON(HAND_OFF_THERE), 0, 0, TO(VERIFYING_CONSUMER), {DO(READ_CONSUMER)}, 3},
    {S(VERIFYING_HAND_OFF), ON(HAND_OFF_GONE), 0, 0, TO(VERIFYING_STREAM), {DO(READ_STREAM)}, 7},
    {S(VERIFYING_CONSUMER), ON(STILL_WAITS), 0, 0, TO(RUNNING), {DO(RENEW), DO(TAKE_PENDING)}, 3},
    {S(VERIFYING_CONSUMER), ON(SILENT), 0, 0, TO(CHOOSE_FAILURE), {DO(REVOKE), DO(DECIDE)}, 3},
    {S(VERIFYING_STREAM), ON(SAME_STREAM), 0, 0, TO(VERIFYING_QUEUE), {DO(READ_QUEUE)}, 7},
    {S(VERIFYING_STREAM), ON(OTHER_STREAM), 0, 0, TO(LOST), {DO(LOSE)}, 7},
    {S(VERIFYING_QUEUE), ON(QUEUE_THERE), 0, 0, TO(VERIFYING_TERMINATION), {DO(READ_TERMINATION)}, 7},
    {S(VERIFYING_QUEUE), ON(QUEUE_GONE), 0, 0, TO(GONE), {DO(DISORDER), DO(FORGET)}, 7},
    {S(VERIFYING_TERMINATION), ON(TERMINATED), 0, 0, TO(CHOOSE_FAILURE), {DO(DECIDE)}, 7},
    {S(VERIFYING_TERMINATION), ON(FINISHED), 0, 0, TO(RECORDING), {DO(DECIDE), DO(RECORD)}, 7},
    {VERIFYING, ON(NO_ANSWER), 0, 0, TO(RUNNING), {DO(TAKE_PENDING)}, 3},
    {VERIFYING, ON(HEARD_MEANWHILE), 0, 0, TO(RUNNING), {DO(TAKE_PENDING)}, 3},

    /* ---- done: the record, then the queue message */
    {S(RECORDING), ON(RECORDED), 0, 0, TO(GONE), {DO(ACK_DONE), DO(FORGET)}, 0},
    {S(RECORDING), ON(NO_ANSWER), 0, 0, TO(LEFT), {0}, 0},

    /* ---- failed: the next state, then the queue message, then the hand-off */
    {S(CHOOSE_FAILURE), ON(STEP), IS(IN_MEMORY), 0, TO(CHOOSE_NEXT), {0}, 0},
    {S(CHOOSE_FAILURE), ON(STEP), IS(TIMED_OUT), IS(IN_MEMORY), TO(READING_OWN_LETTER), {DO(READ_DEAD)}, 3},
    {S(CHOOSE_FAILURE), ON(STEP), 0, IS(TIMED_OUT) | IS(IN_MEMORY), TO(READING_TASK), {DO(READ_CONTENT)}, 0},
    {S(READING_OWN_LETTER), ON(DEAD_OWN), 0, 0, TO(RELEASING), {DO(DECIDE), DO(NOTE_WRITTEN), DO(RELEASE)}, 3},
    {S(READING_OWN_LETTER), ON(DEAD_NONE), 0, 0, TO(READING_TASK), {DO(READ_CONTENT)}, 0},
    {S(READING_OWN_LETTER), ON(DEAD_KEY), 0, 0, TO(READING_TASK), {DO(READ_CONTENT)}, 0},
    {S(READING_OWN_LETTER), ON(DEAD_RETURNING), 0, 0, TO(READING_TASK), {DO(READ_CONTENT)}, 0},
    {S(READING_TASK), ON(CONTENT), 0, 0, TO(CHOOSE_NEXT), {0}, 0},
    {S(READING_TASK), ON(QUEUE_GONE), 0, 0, TO(GONE), {DO(DISORDER), DO(FORGET)}, 7},
    {S(CHOOSE_NEXT), ON(STEP), IS(ENOUGH), 0, TO(WRITING_DEAD_LETTER), {DO(WRITE_DEAD_LETTER)}, 2},
    {S(CHOOSE_NEXT), ON(STEP), 0, IS(ENOUGH), TO(WRITING_RETRY), {DO(WRITE_RETRY)}, 2},
    {S(WRITING_RETRY) | S(WRITING_DEAD_LETTER), ON(STORED), 0, 0, TO(RELEASING), {DO(COUNT_NEXT), DO(NOTE_WRITTEN), DO(RELEASE)}, 1},
    {S(WRITING_RETRY), ON(PLACE_TAKEN), 0, 0, TO(READING_PLACE), {DO(READ_PLACE)}, 2},
    {S(READING_PLACE), ON(PLACE_LEADS_ON), 0, 0, TO(RELEASING), {DO(COUNT_NEXT), DO(NOTE_WRITTEN), DO(RELEASE)}, 2},
    {S(READING_PLACE), ON(PLACE_RECURRING), 0, 0, TO(CHOOSE_FAILURE), {DO(DECIDE)}, 0},
    {S(RELEASING), ON(RELEASED), 0, 0, TO(CHOOSE_RELEASED), {0}, 1},
    {S(CHOOSE_RELEASED), ON(STEP), IS(HANDED_OFF), 0, TO(GONE), {DO(REMOVE_HAND_OFF), DO(SUPERSEDE), DO(FORGET)}, 1},
    {S(CHOOSE_RELEASED), ON(STEP), 0, IS(HANDED_OFF), TO(GONE), {DO(FORGET)}, 0},
    {FAILING, ON(NO_ANSWER), 0, 0, TO(LEFT), {0}, 0},

    /* ---- left to its lease: what was decided stays decided, and its steps are repeated */
    {S(LEFT), ON(REDELIVERED), 0, 0, TO(CHOOSE_REPEAT), {0}, 0},
    {S(CHOOSE_REPEAT), ON(STEP), IS(WRITTEN), 0, TO(RELEASING), {DO(RELEASE)}, 0},
    {S(CHOOSE_REPEAT), ON(STEP), IS(DONE), IS(WRITTEN), TO(RECORDING), {DO(RECORD)}, 0},
    {S(CHOOSE_REPEAT), ON(STEP), IS(DECIDED), IS(WRITTEN) | IS(DONE), TO(CHOOSE_FAILURE), {0}, 0},
    {S(CHOOSE_REPEAT), ON(STEP), 0, IS(WRITTEN) | IS(DONE) | IS(DECIDED), TO(WAITING), {DO(STAGE)}, 0},
    {S(LEFT), ON(OVERDUE), 0, 0, TO(VERIFYING_LEASE), {DO(READ_QUEUE)}, 7},
    {S(VERIFYING_LEASE), ON(QUEUE_THERE), 0, 0, TO(LEFT), {0}, 0},
    {S(VERIFYING_LEASE), ON(NO_ANSWER), 0, 0, TO(LEFT), {0}, 0},
    {S(VERIFYING_LEASE), ON(QUEUE_GONE), 0, IS(WRITTEN), TO(GONE), {DO(DISORDER), DO(FORGET)}, 7},
    {S(VERIFYING_LEASE), ON(QUEUE_GONE), IS(WRITTEN), 0, TO(CHOOSE_RELEASED), {0}, 1},

    /* ---- cancelled: the queue message, then the hand-off; no next attempt */
    {S(LEFT), ON(CANCEL), 0, IS(DONE), TO(CANCELLING), {DO(DECIDE), DO(RELEASE)}, 0},
    {S(WAITING), ON(CANCEL), 0, 0, TO(CANCELLING), {DO(UNSTAGE), DO(DECIDE), DO(RELEASE)}, 0},
    {S(RUNNING), ON(CANCEL), 0, 0, TO(CANCELLING), {DO(REVOKE), DO(DECIDE), DO(RELEASE)}, 0},
    {S(CANCELLING), ON(RELEASED), IS(HANDED_OFF), 0, TO(GONE), {DO(TELL_CANCELLED), DO(REMOVE_HAND_OFF), DO(FORGET)}, 1},
    {S(CANCELLING), ON(RELEASED), 0, IS(HANDED_OFF), TO(GONE), {DO(TELL_CANCELLED), DO(FORGET)}, 0},
    {S(CANCELLING), ON(NO_ANSWER), IS(HANDED_OFF), 0, TO(RUNNING), {DO(TELL_NOT_CANCELLED)}, 0},
    {S(CANCELLING), ON(NO_ANSWER), 0, IS(HANDED_OFF), TO(LEFT), {DO(TELL_NOT_CANCELLED)}, 0},

    /* ---- another message in its place */
    {S(WAITING) | S(RUNNING) | S(LEFT) | S(LOST), ON(REPLACED), 0, 0, TO(GONE), {DO(KEEP_SLOT), DO(FORGET)}, 0},
};
/* clang-format on */

#define COUNT (sizeof(table) / sizeof(table[0]))
#define CANDIDATES 4 /* rows for one state and event, at most */

static struct {
    uint8_t rows[ATTEMPT_STATE_COUNT][ATTEMPT_EVENT_COUNT][CANDIDATES]; /* index + 1; 0: no more */
    unsigned facts[ATTEMPT_STATE_COUNT][ATTEMPT_EVENT_COUNT];
} found;

/* Before main: the index is constant from then on. */
__attribute__((constructor)) static void build(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        for (int s = 0; s < ATTEMPT_STATE_COUNT; s++) {
            if ((table[i].from & (1ULL << s)) == 0)
                continue;
            uint8_t *rows = found.rows[s][table[i].on];
            while (*rows != 0)
                rows++;
            *rows = (uint8_t)(i + 1);
            found.facts[s][table[i].on] |= table[i].any | table[i].none;
        }
    }
}

static bool holds(const struct attempt_move *m, unsigned facts)
{
    return (m->any == 0 || (m->any & facts) != 0) && (m->none & facts) == 0;
}

const struct attempt_move *attempt_moves(size_t *count)
{
    *count = COUNT;
    return table;
}

unsigned attempt_moves_facts(enum attempt_state state, enum attempt_event event)
{
    return found.facts[state][event];
}

const struct attempt_move *attempt_moves_find(enum attempt_state state, enum attempt_event event,
                                              unsigned facts)
{
    const uint8_t *rows = found.rows[state][event];
    for (int i = 0; i < CANDIDATES && rows[i] != 0; i++) {
        if (holds(&table[rows[i] - 1], facts))
            return &table[rows[i] - 1];
    }
    return NULL;
}

const struct attempt_move *attempt_moves_find_in(const struct attempt_move *rows, size_t count,
                                                 enum attempt_state state, enum attempt_event event,
                                                 unsigned facts)
{
    for (size_t i = 0; i < count; i++) {
        if ((rows[i].from & (1ULL << state)) != 0 && rows[i].on == event && holds(&rows[i], facts))
            return &rows[i];
    }
    return NULL;
}

bool attempt_state_awaits_answer(enum attempt_state state)
{
    return (AWAITING & (1ULL << state)) != 0;
}

bool attempt_state_is_choice(enum attempt_state state)
{
    return (CHOICES & (1ULL << state)) != 0;
}

bool attempt_state_is_verifying(enum attempt_state state)
{
    return (VERIFYING & (1ULL << state)) != 0;
}

/* ---- names */

#define X(name, text) {#name, text},
static const char *const states[][2] = {ATTEMPT_STATES(X)};
static const char *const events[][2] = {ATTEMPT_EVENTS(X)};
#undef X
#define X(name, text) text,
static const char *const actions[] = {"", ATTEMPT_ACTIONS(X)};
static const char *const facts_texts[] = {ATTEMPT_FACTS(X)};
#undef X

const char *attempt_state_name(enum attempt_state state)
{
    return states[state][0];
}

const char *attempt_state_text(enum attempt_state state)
{
    return states[state][1];
}

const char *attempt_event_name(enum attempt_event event)
{
    return events[event][0];
}

const char *attempt_event_text(enum attempt_event event)
{
    return events[event][1];
}

const char *attempt_action_text(enum attempt_action action)
{
    return actions[action];
}

const char *attempt_fact_text(unsigned bit)
{
    return facts_texts[bit];
}
