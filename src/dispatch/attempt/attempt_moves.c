#include "dispatch/attempt/attempt_moves.h"

#define S(name) (1ULL << ATTEMPT_##name)
#define ON(name) ATTEMPT_ON_##name
#define IS(name) ATTEMPT_IS_##name
#define TO(name) ATTEMPT_##name
#define STAYS ATTEMPT_STATE_COUNT
#define DO(name) ATTEMPT_DO_##name
#define NOTHING {0}
#define ALWAYS 0, 0
#define IF(facts) facts, 0
#define UNLESS(facts) 0, facts
#define IF_UNLESS(facts, others) facts, others
#define RULE(number) .rule = number

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

/* Most rows keep no rule, and leave it out. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
/* clang-format off */
static const struct attempt_move table[] = {
    /* ---- it comes */
    {S(NEW), ON(DELIVERED), ALWAYS, TO(WAITING), {DO(STAGE)}},
    {S(NEW), ON(MALFORMED), ALWAYS, TO(CHOOSE_FAILURE), {DO(DECIDE)}},
    {S(NEW), ON(ADOPTED), ALWAYS, TO(RUNNING), NOTHING, RULE(8)},
    {S(WAITING), ON(REDELIVERED), ALWAYS, STAYS, NOTHING},
    {S(WAITING), ON(GIVEN_UP), ALWAYS, TO(GONE), {DO(NAK_LATER), DO(FORGET)}},

    /* ---- its turn: has it ended before? */
    {S(WAITING), ON(TURN), ALWAYS, TO(CHOOSE_START), NOTHING},
    {S(CHOOSE_START), ON(STEP), IF(IS(EXPIRED)), TO(CHOOSE_FAILURE), {DO(GIVE_BACK), DO(DECIDE)}},
    {S(CHOOSE_START), ON(STEP), IF_UNLESS(IS(REPEATED) | IS(FROM_BEFORE) | IS(HEARD), IS(EXPIRED)),
     TO(READING_DEAD), {DO(READ_DEAD)}, RULE(3)},
    {S(CHOOSE_START), ON(STEP),
     IF_UNLESS(IS(UNREAD), IS(EXPIRED) | IS(REPEATED) | IS(FROM_BEFORE) | IS(HEARD)),
     TO(CATCHING_UP), {DO(CATCH_UP)}, RULE(5)},
    {S(CHOOSE_START), ON(STEP),
     UNLESS(IS(EXPIRED) | IS(REPEATED) | IS(FROM_BEFORE) | IS(HEARD) | IS(UNREAD)),
     TO(CHOOSE_CONTENT), NOTHING},
    {S(READING_DEAD), ON(DEAD_NONE), ALWAYS, TO(CHOOSE_FRESH), NOTHING},
    {S(READING_DEAD), ON(DEAD_OWN), ALWAYS,
     TO(RELEASING), {DO(GIVE_BACK), DO(DECIDE), DO(NOTE_WRITTEN), DO(RELEASE)}, RULE(3)},
    {S(READING_DEAD), ON(DEAD_KEY), ALWAYS,
     TO(GONE), {DO(GIVE_BACK), DO(ACK_DROPPED), DO(FORGET)}, RULE(5)},
    {S(READING_DEAD), ON(DEAD_RETURNING), ALWAYS,
     TO(GONE), {DO(GIVE_BACK), DO(NAK_DEAD), DO(KEEP_SLOT), DO(FORGET)}},
    {S(CHOOSE_FRESH), ON(STEP), IF(IS(REPEATED) | IS(UNREAD)),
     TO(CATCHING_UP), {DO(CATCH_UP)}, RULE(5)},
    {S(CHOOSE_FRESH), ON(STEP), UNLESS(IS(REPEATED) | IS(UNREAD)), TO(CHOOSE_RECORD), NOTHING},
    {S(CATCHING_UP), ON(CAUGHT_UP), ALWAYS, TO(CHOOSE_RECORD), NOTHING},
    {S(CHOOSE_RECORD), ON(STEP), IF(IS(REPEATED) | IS(HEARD)),
     TO(READING_RECORD), {DO(READ_RECORD)}, RULE(5)},
    {S(CHOOSE_RECORD), ON(STEP), UNLESS(IS(REPEATED) | IS(HEARD)), TO(CHOOSE_CONTENT), NOTHING},
    {S(READING_RECORD), ON(RECORD_DONE), ALWAYS,
     TO(GONE), {DO(GIVE_BACK), DO(ACK_DROPPED), DO(FORGET)}, RULE(5)},
    {S(READING_RECORD), ON(RECORD_NONE), IF(IS(UNRECORDED)),
     TO(RECORDING), {DO(GIVE_BACK), DO(DECIDE), DO(RECORD)}, RULE(5)},
    {S(READING_RECORD), ON(RECORD_NONE), UNLESS(IS(UNRECORDED)), TO(CHOOSE_CONTENT), NOTHING},
    {S(READING_RECORD), ON(RECORD_FREE), ALWAYS, TO(CHOOSE_CONTENT), NOTHING},

    /* ---- handing off */
    {S(CHOOSE_CONTENT), ON(STEP), IF(IS(IN_MEMORY)), TO(HANDING_OFF), {DO(PUBLISH)}, RULE(6)},
    {S(CHOOSE_CONTENT), ON(STEP), UNLESS(IS(IN_MEMORY)), TO(READING_CONTENT), {DO(READ_CONTENT)}},
    {S(READING_CONTENT), ON(CONTENT), IF(IS(UNRECORDED)),
     TO(RECORDING), {DO(GIVE_BACK), DO(DECIDE), DO(RECORD)}, RULE(5)},
    {S(READING_CONTENT), ON(CONTENT), UNLESS(IS(UNRECORDED)),
     TO(HANDING_OFF), {DO(PUBLISH)}, RULE(6)},
    {S(READING_CONTENT), ON(QUEUE_GONE), ALWAYS,
     TO(GONE), {DO(GIVE_BACK), DO(DISORDER), DO(FORGET)}, RULE(7)},
    {S(HANDING_OFF), ON(STORED), IF_UNLESS(IS(RETRY), IS(DOUBTED)),
     TO(RUNNING), {DO(BEGIN), DO(REVOKE_OLDER), DO(TAKE_PENDING)}, RULE(6)},
    {S(HANDING_OFF), ON(STORED), UNLESS(IS(RETRY) | IS(DOUBTED)),
     TO(RUNNING), {DO(BEGIN), DO(TAKE_PENDING)}, RULE(6)},
    {S(HANDING_OFF), ON(STORED), IF(IS(DOUBTED)),
     TO(VERIFYING_HAND_OFF), {DO(BEGIN), DO(REVOKE_OLDER), DO(READ_HAND_OFF)}, RULE(6)},
    {S(HANDING_OFF), ON(DUPLICATE), ALWAYS,
     TO(VERIFYING_HAND_OFF), {DO(BEGIN_AGAIN), DO(READ_HAND_OFF)}, RULE(6)},
    {S(HANDING_OFF), ON(TOO_LARGE), ALWAYS, TO(CHOOSE_FAILURE), {DO(GIVE_BACK), DO(DECIDE)}},
    {STARTING, ON(NO_ANSWER), ALWAYS, TO(WAITING), {DO(PUT_BACK)}},

    /* ---- running: what the worker says */
    {S(RUNNING), ON(ACK), ALWAYS, TO(RECORDING), {DO(DECIDE), DO(RECORD)}},
    {S(RUNNING), ON(NAK), ALWAYS, TO(CHOOSE_FAILURE), {DO(DECIDE)}},
    {S(RUNNING), ON(TERM), ALWAYS, TO(CHOOSE_FAILURE), {DO(DECIDE)}},
    {S(RUNNING), ON(PROGRESS), ALWAYS, STAYS, {DO(RENEW)}},
    {S(RUNNING), ON(MISFIT), ALWAYS, TO(VERIFYING_HAND_OFF), {DO(READ_HAND_OFF)}, RULE(7)},
    {VERIFYING, ON(ACK), ALWAYS, STAYS, {DO(KEEP_PENDING)}},
    {VERIFYING, ON(NAK), ALWAYS, STAYS, {DO(KEEP_PENDING)}},
    {VERIFYING, ON(TERM), ALWAYS, STAYS, {DO(KEEP_PENDING)}},
    {FAILING | S(CANCELLING), ON(ACK), ALWAYS, STAYS, {DO(HONOUR)}, RULE(5)},
    {S(LEFT) | S(VERIFYING_LEASE), ON(ACK), UNLESS(IS(DONE)), STAYS, {DO(HONOUR)}, RULE(5)},
    {S(LEFT) | S(VERIFYING_LEASE), ON(ACK), IF(IS(DONE)), STAYS, NOTHING},
    {S(RECORDING), ON(ACK), ALWAYS, STAYS, NOTHING},
    {FAILING | S(RECORDING) | S(CANCELLING) | S(LEFT) | S(VERIFYING_LEASE), ON(NAK), ALWAYS,
     STAYS, NOTHING},
    {FAILING | S(RECORDING) | S(CANCELLING) | S(LEFT) | S(VERIFYING_LEASE), ON(TERM), ALWAYS,
     STAYS, NOTHING},
    {VERIFYING | FAILING | S(RECORDING) | S(CANCELLING) | S(LEFT) | S(VERIFYING_LEASE),
     ON(PROGRESS), ALWAYS, STAYS, NOTHING},

    /* ---- running: what time and the server say */
    {S(RUNNING), ON(REDELIVERED), ALWAYS, TO(VERIFYING_HAND_OFF), {DO(READ_HAND_OFF)}, RULE(3)},
    {S(RUNNING), ON(OVERDUE), ALWAYS, TO(VERIFYING_HAND_OFF), {DO(READ_HAND_OFF)}, RULE(3)},
    {S(RUNNING), ON(UNFETCHED), ALWAYS, TO(VERIFYING_HAND_OFF), {DO(READ_HAND_OFF)}, RULE(3)},
    {S(RUNNING), ON(MAX_DELIVERIES), ALWAYS,
     TO(VERIFYING_HAND_OFF), {DO(END_ACTIVITY), DO(READ_HAND_OFF)}, RULE(3)},
    {(AWAITING & ~STARTING) | S(LEFT), ON(MAX_DELIVERIES), ALWAYS, STAYS, NOTHING},
    {S(RUNNING), ON(OVERRAN), ALWAYS, TO(CHOOSE_FAILURE), {DO(REVOKE), DO(DECIDE)}},
    {VERIFYING, ON(OVERRAN), ALWAYS, STAYS, {DO(LIMIT_AGAIN)}},
    {(AWAITING & ~STARTING & ~VERIFYING) | S(LEFT) | S(LOST), ON(OVERRAN), ALWAYS, STAYS, NOTHING},
    {S(RUNNING), ON(WORK_RECREATED), ALWAYS, TO(LOST), {DO(LOSE)}, RULE(7)},
    {(AWAITING & ~STARTING) | S(LEFT), ON(WORK_RECREATED), ALWAYS, STAYS, NOTHING},
    {S(RUNNING), ON(QUEUE_THERE), ALWAYS, STAYS, {DO(TAKE_PENDING)}, RULE(8)},
    {S(RUNNING), ON(QUEUE_GONE), ALWAYS,
     TO(GONE), {DO(REMOVE_HAND_OFF), DO(SUPERSEDE), DO(DISORDER), DO(FORGET)}, RULE(1)},
    {AWAITING, ON(REDELIVERED), ALWAYS, STAYS, NOTHING},

    /* ---- verifying: nothing is concluded from silence before AX_WORK was read */
    {S(VERIFYING_HAND_OFF), ON(HAND_OFF_THERE), ALWAYS,
     TO(VERIFYING_CONSUMER), {DO(READ_CONSUMER)}, RULE(3)},
    {S(VERIFYING_HAND_OFF), ON(HAND_OFF_GONE), ALWAYS,
     TO(VERIFYING_STREAM), {DO(READ_STREAM)}, RULE(7)},
    {S(VERIFYING_CONSUMER), ON(STILL_WAITS), ALWAYS,
     TO(RUNNING), {DO(RENEW), DO(TAKE_PENDING)}, RULE(3)},
    {S(VERIFYING_CONSUMER), ON(SILENT), ALWAYS,
     TO(CHOOSE_FAILURE), {DO(REVOKE), DO(DECIDE)}, RULE(3)},
    {S(VERIFYING_CONSUMER), ON(NOT_FETCHED), ALWAYS,
     TO(CHOOSE_FAILURE), {DO(REVOKE), DO(DECIDE)}, RULE(1)},
    {S(VERIFYING_STREAM), ON(SAME_STREAM), ALWAYS, TO(VERIFYING_QUEUE), {DO(READ_QUEUE)}, RULE(7)},
    {S(VERIFYING_STREAM), ON(OTHER_STREAM), ALWAYS, TO(LOST), {DO(LOSE)}, RULE(7)},
    {S(VERIFYING_QUEUE), ON(QUEUE_THERE), ALWAYS,
     TO(VERIFYING_TERMINATION), {DO(READ_TERMINATION)}, RULE(7)},
    {S(VERIFYING_QUEUE), ON(QUEUE_GONE), ALWAYS, TO(GONE), {DO(DISORDER), DO(FORGET)}, RULE(7)},
    {S(VERIFYING_TERMINATION), ON(TERMINATED), UNLESS(IS(DOUBTED)),
     TO(CHOOSE_FAILURE), {DO(DECIDE)}, RULE(7)},
    {S(VERIFYING_TERMINATION), ON(FINISHED), UNLESS(IS(DOUBTED) | IS(UNHEARD)),
     TO(RECORDING), {DO(SAY_UNHEARD), DO(DECIDE), DO(RECORD)}, RULE(7)},
    {S(VERIFYING_TERMINATION), ON(TERMINATED), IF(IS(DOUBTED)),
     TO(VERIFYING_CONSUMER), {DO(READ_CONSUMER)}, RULE(7)},
    {S(VERIFYING_TERMINATION), ON(FINISHED), IF(IS(DOUBTED)),
     TO(VERIFYING_CONSUMER), {DO(READ_CONSUMER)}, RULE(7)},
    {S(VERIFYING_TERMINATION), ON(FINISHED), IF_UNLESS(IS(UNHEARD), IS(DOUBTED)),
     TO(VERIFYING_CONSUMER), {DO(SAY_REMOVED), DO(READ_CONSUMER)}, RULE(7)},
    {VERIFYING, ON(NO_ANSWER), ALWAYS, TO(RUNNING), {DO(TAKE_PENDING)}, RULE(3)},
    {VERIFYING, ON(HEARD_MEANWHILE), ALWAYS, TO(RUNNING), {DO(TAKE_PENDING)}, RULE(3)},

    /* ---- done: the record, then the queue message */
    {S(RECORDING), ON(RECORDED), ALWAYS, TO(GONE), {DO(ACK_DONE), DO(FORGET)}},
    {S(RECORDING), ON(NO_ANSWER), ALWAYS, TO(LEFT), NOTHING},

    /* ---- failed: the next state, then the queue message, then the hand-off */
    {S(CHOOSE_FAILURE), ON(STEP), IF(IS(IN_MEMORY)), TO(CHOOSE_NEXT), NOTHING},
    {S(CHOOSE_FAILURE), ON(STEP), IF_UNLESS(IS(TIMED_OUT), IS(IN_MEMORY)),
     TO(READING_OWN_LETTER), {DO(READ_DEAD)}, RULE(3)},
    {S(CHOOSE_FAILURE), ON(STEP), UNLESS(IS(TIMED_OUT) | IS(IN_MEMORY)),
     TO(READING_TASK), {DO(READ_CONTENT)}},
    {S(READING_OWN_LETTER), ON(DEAD_OWN), ALWAYS,
     TO(RELEASING), {DO(DECIDE), DO(NOTE_WRITTEN), DO(RELEASE)}, RULE(3)},
    {S(READING_OWN_LETTER), ON(DEAD_NONE), ALWAYS, TO(READING_TASK), {DO(READ_CONTENT)}},
    {S(READING_OWN_LETTER), ON(DEAD_KEY), ALWAYS, TO(READING_TASK), {DO(READ_CONTENT)}},
    {S(READING_OWN_LETTER), ON(DEAD_RETURNING), ALWAYS, TO(READING_TASK), {DO(READ_CONTENT)}},
    {S(READING_TASK), ON(CONTENT), ALWAYS, TO(CHOOSE_NEXT), NOTHING},
    {S(READING_TASK), ON(QUEUE_GONE), ALWAYS, TO(GONE), {DO(DISORDER), DO(FORGET)}, RULE(7)},
    {S(CHOOSE_NEXT), ON(STEP), IF(IS(ENOUGH)),
     TO(WRITING_DEAD_LETTER), {DO(WRITE_DEAD_LETTER)}, RULE(2)},
    {S(CHOOSE_NEXT), ON(STEP), UNLESS(IS(ENOUGH)), TO(WRITING_RETRY), {DO(WRITE_RETRY)}, RULE(2)},
    {S(WRITING_RETRY) | S(WRITING_DEAD_LETTER), ON(STORED), ALWAYS,
     TO(RELEASING), {DO(COUNT_NEXT), DO(NOTE_WRITTEN), DO(RELEASE)}, RULE(1)},
    {S(WRITING_RETRY), ON(PLACE_TAKEN), ALWAYS, TO(READING_PLACE), {DO(READ_PLACE)}, RULE(2)},
    {S(READING_PLACE), ON(PLACE_LEADS_ON), ALWAYS,
     TO(RELEASING), {DO(COUNT_NEXT), DO(NOTE_WRITTEN), DO(RELEASE)}, RULE(2)},
    {S(READING_PLACE), ON(PLACE_BEHIND), ALWAYS, TO(CHOOSE_FAILURE), NOTHING, RULE(4)},
    {S(READING_PLACE), ON(PLACE_RECURRING), ALWAYS, TO(CHOOSE_FAILURE), {DO(DECIDE)}},
    {S(RELEASING), ON(RELEASED), ALWAYS, TO(CHOOSE_RELEASED), NOTHING, RULE(1)},
    {S(CHOOSE_RELEASED), ON(STEP), IF(IS(HANDED_OFF)),
     TO(GONE), {DO(REMOVE_HAND_OFF), DO(SUPERSEDE), DO(FORGET)}, RULE(1)},
    {S(CHOOSE_RELEASED), ON(STEP), UNLESS(IS(HANDED_OFF)), TO(GONE), {DO(FORGET)}},
    {FAILING, ON(NO_ANSWER), ALWAYS, TO(LEFT), NOTHING},

    /* ---- left to its lease: what was decided stays decided, and its steps are repeated */
    {S(LEFT), ON(REDELIVERED), ALWAYS, TO(CHOOSE_REPEAT), NOTHING},
    {S(CHOOSE_REPEAT), ON(STEP), IF(IS(WRITTEN)), TO(RELEASING), {DO(RELEASE)}},
    {S(CHOOSE_REPEAT), ON(STEP), IF_UNLESS(IS(DONE), IS(WRITTEN)), TO(RECORDING), {DO(RECORD)}},
    {S(CHOOSE_REPEAT), ON(STEP), IF_UNLESS(IS(DECIDED), IS(WRITTEN) | IS(DONE)),
     TO(CHOOSE_FAILURE), NOTHING},
    {S(CHOOSE_REPEAT), ON(STEP), UNLESS(IS(WRITTEN) | IS(DONE) | IS(DECIDED)),
     TO(WAITING), {DO(STAGE)}},
    {S(LEFT) | S(LOST), ON(OVERDUE), ALWAYS, TO(VERIFYING_LEASE), {DO(READ_QUEUE)}, RULE(7)},
    {S(VERIFYING_LEASE), ON(QUEUE_THERE), ALWAYS, TO(LEFT), NOTHING},
    {S(VERIFYING_LEASE), ON(NO_ANSWER), ALWAYS, TO(LEFT), NOTHING},
    {S(VERIFYING_LEASE), ON(QUEUE_GONE), IF(IS(DONE)),
     TO(RECORDING), {DO(DISORDER), DO(RECORD)}, RULE(5)},
    {S(VERIFYING_LEASE), ON(QUEUE_GONE), IF_UNLESS(IS(WRITTEN), IS(DONE)),
     TO(CHOOSE_RELEASED), NOTHING, RULE(1)},
    {S(VERIFYING_LEASE), ON(QUEUE_GONE), UNLESS(IS(WRITTEN) | IS(DONE)),
     TO(GONE), {DO(DISORDER), DO(FORGET)}, RULE(7)},

    /* ---- cancelled: the queue message, then the hand-off; no next attempt */
    {S(LEFT), ON(CANCEL), UNLESS(IS(DONE) | IS(WRITTEN)),
     TO(CANCELLING), {DO(DECIDE), DO(RELEASE)}},
    {S(WAITING), ON(CANCEL), ALWAYS, TO(CANCELLING), {DO(UNSTAGE), DO(DECIDE), DO(RELEASE)}},
    {S(RUNNING), ON(CANCEL), ALWAYS, TO(CANCELLING), {DO(REVOKE), DO(DECIDE), DO(RELEASE)}},
    {S(CANCELLING), ON(RELEASED), IF(IS(HANDED_OFF)),
     TO(GONE), {DO(TELL_CANCELLED), DO(REMOVE_HAND_OFF), DO(FORGET)}, RULE(1)},
    {S(CANCELLING), ON(RELEASED), UNLESS(IS(HANDED_OFF)),
     TO(GONE), {DO(TELL_CANCELLED), DO(FORGET)}},
    {S(CANCELLING), ON(NO_ANSWER), IF(IS(HANDED_OFF)), TO(RUNNING), {DO(TELL_NOT_CANCELLED)}},
    {S(CANCELLING), ON(NO_ANSWER), UNLESS(IS(HANDED_OFF)), TO(LEFT), {DO(TELL_NOT_CANCELLED)}},

    /* ---- another message in its place */
    {S(WAITING) | S(RUNNING) | S(LEFT) | S(LOST), ON(REPLACED), ALWAYS,
     TO(GONE), {DO(KEEP_SLOT), DO(FORGET)}},
};
/* clang-format on */
#pragma GCC diagnostic pop

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
