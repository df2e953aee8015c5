/* Every legal move of an attempt is in its table, once, and nothing else is. What is legal stands
 * here a second time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dispatch/attempt/attempt_moves.h"

#define ON(name) (1ULL << ATTEMPT_ON_##name)

static const uint64_t legal[ATTEMPT_STATE_COUNT] = {
    [ATTEMPT_NEW] = ON(DELIVERED) | ON(MALFORMED) | ON(ADOPTED),
    [ATTEMPT_WAITING] = ON(TURN) | ON(GIVEN_UP) | ON(REDELIVERED) | ON(REPLACED) | ON(CANCEL),
    [ATTEMPT_CHOOSE_START] = ON(STEP),
    [ATTEMPT_READING_DEAD] = ON(REDELIVERED) | ON(NO_ANSWER) | ON(DEAD_NONE) | ON(DEAD_OWN) |
                             ON(DEAD_KEY) | ON(DEAD_RETURNING),
    [ATTEMPT_CHOOSE_FRESH] = ON(STEP),
    [ATTEMPT_CATCHING_UP] = ON(REDELIVERED) | ON(NO_ANSWER) | ON(CAUGHT_UP),
    [ATTEMPT_CHOOSE_RECORD] = ON(STEP),
    [ATTEMPT_READING_RECORD] = ON(REDELIVERED) | ON(NO_ANSWER) | ON(RECORD_NONE) | ON(RECORD_FREE) |
                               ON(RECORD_DONE),
    [ATTEMPT_CHOOSE_CONTENT] = ON(STEP),
    [ATTEMPT_READING_CONTENT] = ON(REDELIVERED) | ON(NO_ANSWER) | ON(CONTENT) | ON(QUEUE_GONE),
    [ATTEMPT_HANDING_OFF] = ON(REDELIVERED) | ON(NO_ANSWER) | ON(STORED) | ON(DUPLICATE) |
                            ON(TOO_LARGE),
    [ATTEMPT_RUNNING] = ON(REDELIVERED) | ON(REPLACED) | ON(OVERDUE) | ON(ACK) | ON(NAK) |
                        ON(TERM) | ON(PROGRESS) | ON(MISFIT) | ON(OVERRAN) | ON(MAX_DELIVERIES) |
                        ON(WORK_RECREATED) | ON(CANCEL) | ON(QUEUE_THERE) | ON(QUEUE_GONE) |
                        ON(UNFETCHED),
    [ATTEMPT_VERIFYING_HAND_OFF] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                                   ON(HEARD_MEANWHILE) | ON(OVERRAN) | ON(MAX_DELIVERIES) |
                                   ON(WORK_RECREATED) | ON(NO_ANSWER) | ON(HAND_OFF_THERE) |
                                   ON(HAND_OFF_GONE),
    [ATTEMPT_VERIFYING_CONSUMER] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                                   ON(HEARD_MEANWHILE) | ON(OVERRAN) | ON(MAX_DELIVERIES) |
                                   ON(WORK_RECREATED) | ON(NO_ANSWER) | ON(STILL_WAITS) |
                                   ON(SILENT) | ON(NOT_FETCHED),
    [ATTEMPT_VERIFYING_STREAM] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                                 ON(HEARD_MEANWHILE) | ON(OVERRAN) | ON(MAX_DELIVERIES) |
                                 ON(WORK_RECREATED) | ON(NO_ANSWER) | ON(SAME_STREAM) |
                                 ON(OTHER_STREAM),
    [ATTEMPT_VERIFYING_QUEUE] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                                ON(HEARD_MEANWHILE) | ON(OVERRAN) | ON(MAX_DELIVERIES) |
                                ON(WORK_RECREATED) | ON(NO_ANSWER) | ON(QUEUE_THERE) |
                                ON(QUEUE_GONE),
    [ATTEMPT_VERIFYING_TERMINATION] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) |
                                      ON(PROGRESS) | ON(HEARD_MEANWHILE) | ON(OVERRAN) |
                                      ON(MAX_DELIVERIES) | ON(WORK_RECREATED) | ON(NO_ANSWER) |
                                      ON(TERMINATED) | ON(FINISHED),
    [ATTEMPT_VERIFYING_LEASE] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                                ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) |
                                ON(NO_ANSWER) | ON(QUEUE_THERE) | ON(QUEUE_GONE),
    [ATTEMPT_RECORDING] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                          ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) | ON(NO_ANSWER) |
                          ON(RECORDED),
    [ATTEMPT_CHOOSE_FAILURE] = ON(STEP),
    [ATTEMPT_READING_OWN_LETTER] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                                   ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) |
                                   ON(NO_ANSWER) | ON(DEAD_NONE) | ON(DEAD_OWN) | ON(DEAD_KEY) |
                                   ON(DEAD_RETURNING),
    [ATTEMPT_READING_TASK] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                             ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) | ON(NO_ANSWER) |
                             ON(CONTENT) | ON(QUEUE_GONE),
    [ATTEMPT_CHOOSE_NEXT] = ON(STEP),
    [ATTEMPT_WRITING_RETRY] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                              ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) |
                              ON(NO_ANSWER) | ON(STORED) | ON(PLACE_TAKEN),
    [ATTEMPT_WRITING_DEAD_LETTER] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                                    ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) |
                                    ON(NO_ANSWER) | ON(STORED),
    [ATTEMPT_READING_PLACE] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                              ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) |
                              ON(NO_ANSWER) | ON(PLACE_LEADS_ON) | ON(PLACE_BEHIND) |
                              ON(PLACE_RECURRING),
    [ATTEMPT_RELEASING] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                          ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) | ON(NO_ANSWER) |
                          ON(RELEASED),
    [ATTEMPT_CHOOSE_RELEASED] = ON(STEP),
    [ATTEMPT_CANCELLING] = ON(REDELIVERED) | ON(ACK) | ON(NAK) | ON(TERM) | ON(PROGRESS) |
                           ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) | ON(NO_ANSWER) |
                           ON(RELEASED),
    [ATTEMPT_LEFT] = ON(REDELIVERED) | ON(REPLACED) | ON(OVERDUE) | ON(ACK) | ON(NAK) | ON(TERM) |
                     ON(PROGRESS) | ON(OVERRAN) | ON(MAX_DELIVERIES) | ON(WORK_RECREATED) |
                     ON(CANCEL),
    [ATTEMPT_CHOOSE_REPEAT] = ON(STEP),
    [ATTEMPT_LOST] = ON(REPLACED) | ON(OVERDUE) | ON(OVERRAN),
    [ATTEMPT_GONE] = 0,
};

/* Rows of the table that match. */
static int matches(enum attempt_state state, enum attempt_event event, unsigned facts)
{
    size_t count;
    const struct attempt_move *table = attempt_moves(&count);
    int n = 0;
    for (size_t i = 0; i < count; i++)
        n += attempt_moves_find_in(&table[i], 1, state, event, facts) != NULL;
    return n;
}

/* Calls check for every combination of the facts that decide, and those that do not: none. */
static void each_case(void (*check)(enum attempt_state, enum attempt_event, unsigned facts))
{
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++) {
        for (int e = 0; e < ATTEMPT_EVENT_COUNT; e++) {
            unsigned decide = attempt_moves_facts((enum attempt_state)s, (enum attempt_event)e);
            unsigned facts = decide;
            check((enum attempt_state)s, (enum attempt_event)e, facts);
            while (facts != 0) {
                facts = (facts - 1) & decide;
                check((enum attempt_state)s, (enum attempt_event)e, facts);
            }
        }
    }
}

static void check_case(enum attempt_state state, enum attempt_event event, unsigned facts)
{
    int n = matches(state, event, facts);
    bool is_legal = (legal[state] & (1ULL << event)) != 0;
    if (n > 1 || (n == 1 && !is_legal)) {
        fail_msg("%s, %s, facts %x: %d moves, legal: %d", attempt_state_name(state),
                 attempt_event_name(event), facts, n, is_legal);
    }
    assert_true((attempt_moves_find(state, event, facts) != NULL) == (n == 1));
}

static void a_case_has_one_move_or_none(void **state)
{
    (void)state;
    each_case(check_case);
}

static void every_legal_event_moves(void **state)
{
    (void)state;
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++) {
        for (int e = 0; e < ATTEMPT_EVENT_COUNT; e++) {
            if ((legal[s] & (1ULL << e)) == 0)
                continue;
            unsigned decide = attempt_moves_facts((enum attempt_state)s, (enum attempt_event)e);
            bool moves = false;
            for (unsigned facts = 0; facts <= decide; facts++) {
                moves = moves || attempt_moves_find((enum attempt_state)s, (enum attempt_event)e,
                                                    facts) != NULL;
            }
            if (!moves) {
                fail_msg("%s has no move for %s", attempt_state_name((enum attempt_state)s),
                         attempt_event_name((enum attempt_event)e));
            }
        }
    }
}

static void a_choice_always_has_a_way(void **state)
{
    (void)state;
    for (int s = 0; s < ATTEMPT_STATE_COUNT; s++) {
        if (!attempt_state_is_choice((enum attempt_state)s))
            continue;
        for (unsigned facts = 0; facts < 1u << ATTEMPT_FACT_COUNT; facts++) {
            assert_non_null(attempt_moves_find((enum attempt_state)s, ATTEMPT_ON_STEP, facts));
        }
    }
}

static bool asks(const struct attempt_move *m)
{
    for (int i = 0; i < ATTEMPT_MOVE_ACTIONS; i++) {
        enum attempt_action action = m->actions[i];
        if (action == ATTEMPT_DO_CATCH_UP || action == ATTEMPT_DO_PUBLISH ||
            action == ATTEMPT_DO_RECORD || action == ATTEMPT_DO_RELEASE ||
            (action >= ATTEMPT_DO_WRITE_RETRY && action <= ATTEMPT_DO_READ_PLACE) ||
            (action >= ATTEMPT_DO_READ_DEAD && action <= ATTEMPT_DO_READ_CONTENT) ||
            (action >= ATTEMPT_DO_READ_HAND_OFF && action <= ATTEMPT_DO_READ_TERMINATION))
            return true;
    }
    return false;
}

/* So there is one question at a time, and its answer comes to the state that asked. */
static void a_state_that_awaits_an_answer_has_asked_once(void **state)
{
    (void)state;
    size_t count;
    const struct attempt_move *table = attempt_moves(&count);
    for (size_t i = 0; i < count; i++) {
        const struct attempt_move *m = &table[i];
        bool moves = m->to != ATTEMPT_STATE_COUNT;
        bool awaits = moves && attempt_state_awaits_answer(m->to);
        if (awaits != asks(m))
            fail_msg("row %zu to %s", i, moves ? attempt_state_name(m->to) : "itself");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_case_has_one_move_or_none),
        cmocka_unit_test(every_legal_event_moves),
        cmocka_unit_test(a_choice_always_has_a_way),
        cmocka_unit_test(a_state_that_awaits_an_answer_has_asked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
