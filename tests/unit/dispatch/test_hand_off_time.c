/* Which acks fit a hand-off: by its exact time where that is known, else by when it can have been
 * stored, over every step of the server's clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dispatch/attempt/hand_off_time.h"

#define SECOND 1000000000LL
#define SERVER (1700000000 * SECOND) /* less the monotonic clock */
#define SENT (1000 * SECOND)
#define ANSWERED (SENT + SECOND / 1000)

static const struct hand_off_time sent = {
    .sent_ns = SENT, .answered_ns = ANSWERED, .offset_ns = SERVER};

static bool fits(const struct hand_off_time *t, int64_t stored_ns, int64_t heard_ns)
{
    return hand_off_time_fits(t, stored_ns, heard_ns, SERVER);
}

static void the_worker_names_the_time_of_its_hand_off(void **state)
{
    (void)state;
    assert_true(fits(&sent, SERVER + SENT + 500, ANSWERED + 100));
    assert_true(fits(&sent, SERVER + SENT + 500, SENT + 600)); /* before the answer was heard */
}

static void what_was_heard_before_the_sending_is_not_for_it(void **state)
{
    (void)state;
    assert_false(fits(&sent, SERVER + SENT + 500, SENT - 1));
}

static void other_times_are_not_for_it(void **state)
{
    (void)state;
    const int64_t others[] = {0, 1, INT64_MAX, SERVER + SENT - HAND_OFF_TIME_MARGIN_NS - 1,
                              SERVER + ANSWERED + HAND_OFF_TIME_MARGIN_NS + 1};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(fits(&sent, others[i], ANSWERED + SECOND));
}

static void the_exact_time_is_the_only_one(void **state)
{
    (void)state;
    struct hand_off_time t = sent;
    t.stored_ns = SERVER + SENT + 500;
    assert_true(fits(&t, SERVER + SENT + 500, ANSWERED));
    assert_true(hand_off_time_fits(&t, SERVER + SENT + 500, ANSWERED, CLOCK_OFFSET_UNKNOWN));
    assert_false(fits(&t, SERVER + SENT + 501, ANSWERED));
    t.exact_only = true;
    assert_true(fits(&t, SERVER + SENT + 500, ANSWERED));
}

static void while_acks_are_forged_an_estimate_is_not_enough(void **state)
{
    (void)state;
    struct hand_off_time t = sent;
    t.exact_only = true;
    assert_false(fits(&t, SERVER + SENT + 500, ANSWERED));
}

static void a_step_of_the_servers_clock_refuses_nobody(void **state)
{
    (void)state;
    const int64_t steps[] = {-86400 * SECOND, -3600 * SECOND, 3600 * SECOND, 86400 * SECOND};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int64_t now = SERVER + steps[i];
        /* stored before the step, heard after it; and stored after a step that was learnt later */
        assert_true(hand_off_time_fits(&sent, SERVER + SENT + 500, ANSWERED + SECOND, now));
        assert_true(hand_off_time_fits(&sent, now + SENT + 500, ANSWERED + SECOND, now));
        assert_false(hand_off_time_fits(&sent, now + SENT + 500, ANSWERED + SECOND, SERVER));
    }
}

static void before_any_time_of_the_server_is_known_the_order_decides(void **state)
{
    (void)state;
    struct hand_off_time t = sent;
    t.offset_ns = CLOCK_OFFSET_UNKNOWN;
    assert_true(fits(&t, 7, ANSWERED));
    assert_false(fits(&t, 7, SENT - 1));
}

static void extremes_do_not_overflow(void **state)
{
    (void)state;
    const int64_t numbers[] = {INT64_MIN + 1, -1, 0, 1, INT64_MAX};
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 5; k++) {
            struct hand_off_time t = {
                .sent_ns = numbers[i], .answered_ns = numbers[k], .offset_ns = numbers[i]};
            (void)hand_off_time_fits(&t, numbers[k], numbers[i], numbers[k]);
        }
    }
}

static void one_that_was_stored_before_is_younger_than_its_queue_message(void **state)
{
    (void)state;
    int64_t now = SENT;
    struct clock c;
    clock_init_fake(&c, &now);
    clock_learn(&c, SERVER + SENT);
    struct hand_off_time t = hand_off_time_since(&c, SERVER + SENT - 300 * SECOND);
    t.answered_ns = SENT;
    assert_true(hand_off_time_fits(&t, SERVER + SENT - 200 * SECOND, SENT - 100 * SECOND, SERVER));
    assert_false(hand_off_time_fits(&t, SERVER + SENT - 500 * SECOND, SENT - 100 * SECOND, SERVER));
    assert_false(hand_off_time_fits(&t, SERVER + SENT - 200 * SECOND, SENT - 400 * SECOND, SERVER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worker_names_the_time_of_its_hand_off),
        cmocka_unit_test(what_was_heard_before_the_sending_is_not_for_it),
        cmocka_unit_test(other_times_are_not_for_it),
        cmocka_unit_test(the_exact_time_is_the_only_one),
        cmocka_unit_test(while_acks_are_forged_an_estimate_is_not_enough),
        cmocka_unit_test(a_step_of_the_servers_clock_refuses_nobody),
        cmocka_unit_test(before_any_time_of_the_server_is_known_the_order_decides),
        cmocka_unit_test(extremes_do_not_overflow),
        cmocka_unit_test(one_that_was_stored_before_is_younger_than_its_queue_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
