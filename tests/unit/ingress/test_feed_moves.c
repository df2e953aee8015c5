/* Every legal move of a due message and of a firing is in its table, and nothing else is. What is
 * legal stands here a second time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "ingress/feed/feed_moves.h"
#include "ingress/feed/firing_moves.h"

#define ON(name) (1ULL << FEED_##name)
static const uint64_t legal_feeds[FEED_STATE_COUNT] = {
    [FEED_NEW] = ON(TASK) | ON(NO_TASK) | ON(SWEPT) | ON(NO_MEMORY),
    [FEED_READY] = ON(TURN) | ON(STOPPED) | ON(NO_PLACE) | ON(CROWDED),
    [FEED_ASIDE] = ON(DUE) | ON(STOPPED) | ON(CROWDED),
    [FEED_EXAMINING] = ON(FOUND) | ON(NOT_FOUND) | ON(NO_ANSWER) | ON(NOT_ASKED),
    [FEED_CLAIMING] = ON(GO) | ON(SKIP) | ON(NO_ANSWER) | ON(NOT_ASKED),
    [FEED_PUBLISHING] = ON(STORED) | ON(EXISTS) | ON(FULL) | ON(REFUSED) | ON(NO_ROOM) |
                        ON(NOT_ASKED),
    [FEED_LOOKING] = ON(FOUND) | ON(FOUND_EARLIER) | ON(NOT_FOUND) | ON(NO_ANSWER) | ON(NOT_ASKED),
    [FEED_WAITING] = ON(DUE) | ON(STOPPED),
    [FEED_ACKING] = ON(ACKED) | ON(NO_ANSWER) | ON(NOT_ASKED),
    [FEED_ENDED] = 0,
};
#undef ON
#define ON(name) (1ULL << FIRING_##name)
#define LOOK (ON(FOUND) | ON(NOT_FOUND) | ON(NO_ANSWER))
static const uint64_t legal_firings[FIRING_STATE_COUNT] = {
    [FIRING_RECORD] = ON(NO_RECORD) | ON(OWN) | ON(NEWER) | ON(LAST) | ON(NO_ANSWER),
    [FIRING_DUE] = LOOK,
    [FIRING_SPILL] = LOOK,
    [FIRING_QUEUE] = LOOK,
    [FIRING_LATER] = LOOK,
    [FIRING_QUEUE_AGAIN] = LOOK,
    [FIRING_CLAIM] = ON(WRITTEN) | ON(CHANGED) | ON(NO_ANSWER),
    [FIRING_ENDED] = 0,
};

static const void *draw_feed(void)
{
    static struct feed_facts f;
    f = (struct feed_facts){
        .unclaimed = rand() % 2 == 0, .unexamined = rand() % 2 == 0, .acks = rand() % 5};
    return &f;
}

static const void *draw_firing(void)
{
    static struct firing_facts f;
    f = (struct firing_facts){.rounds = rand() % 15};
    return &f;
}

static void check(struct moves *m, const uint64_t *legal, const void *(*draw)(void))
{
    size_t bad = 0;
    bool reached[256] = {false};
    assert_int_equal(moves_check(m, &bad), AX_OK);
    for (int i = 0; i < 1000; i++) {
        for (unsigned s = 0; s < m->states.count; s++) {
            for (unsigned e = 0; e < m->events.count; e++) {
                const struct move *row = moves_find(m, s, e, draw());
                if (((legal[s] & (1ULL << e)) != 0) != (row != NULL))
                    fail_msg("%s, %s", m->states.texts[s], m->events.texts[e]);
                if (row != NULL)
                    reached[row - m->rows] = true;
            }
        }
    }
    for (size_t i = 0; i < m->count; i++) {
        if (!reached[i])
            fail_msg("row %zu is never reached", i);
    }
}

static void a_due_message_has_its_legal_moves_and_no_other(void **state)
{
    (void)state;
    check(feed_moves_table(), legal_feeds, draw_feed);
}

static void a_firing_has_its_legal_moves_and_no_other(void **state)
{
    (void)state;
    check(firing_moves_table(), legal_firings, draw_firing);
}

/* The task of the firing before is looked for in the order in which it moves, and the queue twice.
 */
static void a_firing_goes_only_after_every_place_was_looked_at(void **state)
{
    static const enum firing_state way[] = {FIRING_DUE,   FIRING_SPILL,       FIRING_QUEUE,
                                            FIRING_LATER, FIRING_QUEUE_AGAIN, FIRING_CLAIM};
    struct firing_facts f = {0};
    (void)state;
    firing_moves_step(firing_moves_table(), &f, FIRING_LAST);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(f.state, way[i]);
        const struct move *row = firing_moves_step(firing_moves_table(), &f,
                                                   i < 5 ? FIRING_NOT_FOUND : FIRING_WRITTEN);
        assert_int_equal(row->action, i < 4   ? FIRING_DO_LOOK
                                      : i < 5 ? FIRING_DO_WRITE
                                              : FIRING_DO_GO);
    }
}

static void an_ack_that_is_not_heard_is_sent_three_times(void **state)
{
    struct feed_facts f = {.state = FEED_PUBLISHING};
    (void)state;
    assert_int_equal(feed_moves_step(feed_moves_table(), &f, FEED_STORED)->action, FEED_DO_ACK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(feed_moves_step(feed_moves_table(), &f, FEED_NO_ANSWER)->action,
                         i < 2 ? FEED_DO_ACK : FEED_DO_FORGET);
    }
    assert_int_equal(f.state, FEED_ENDED);
}

/* Of a schedule's firings the earliest waits for a place, and the others are skipped. */
static void one_firing_waits_for_a_place(void **state)
{
    struct feed_facts first = {.state = FEED_READY, .unexamined = true}, second = first;
    (void)state;
    assert_int_equal(feed_moves_step(feed_moves_table(), &first, FEED_NO_PLACE)->action,
                     FEED_DO_LOOK_EARLIER);
    feed_moves_step(feed_moves_table(), &second, FEED_NO_PLACE);
    feed_moves_step(feed_moves_table(), &first, FEED_NOT_FOUND);
    assert_int_equal(feed_moves_step(feed_moves_table(), &first, FEED_NO_PLACE)->action,
                     FEED_DO_SET_ASIDE);
    assert_int_equal(feed_moves_step(feed_moves_table(), &second, FEED_FOUND)->action, FEED_DO_ACK);
    assert_int_equal(feed_moves_step(feed_moves_table(), &first, FEED_DUE)->to, FEED_READY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_due_message_has_its_legal_moves_and_no_other),
        cmocka_unit_test(a_firing_has_its_legal_moves_and_no_other),
        cmocka_unit_test(a_firing_goes_only_after_every_place_was_looked_at),
        cmocka_unit_test(one_firing_waits_for_a_place),
        cmocka_unit_test(an_ack_that_is_not_heard_is_sent_three_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
