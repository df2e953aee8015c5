#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ingress/queue/drain.h"

#define S 1000000000LL

static void says_a_default_while_nothing_is_known(void **state)
{
    (void)state;
    struct drain d;
    drain_init(&d);
    assert_int_equal(drain_hint_ms(&d, 5 * S), DRAIN_HINT_FIRST_MS);
    drain_sample(&d, 100, 5 * S);
    assert_int_equal(drain_hint_ms(&d, 5 * S), DRAIN_HINT_FIRST_MS);
}

static void hint_follows_the_rate_and_those_sent_away(void **state)
{
    (void)state;
    struct drain d;
    drain_init(&d);
    drain_sample(&d, 0, 1 * S);
    drain_sample(&d, 10, 2 * S); /* 10 a second: one more fits in 100 ms */
    assert_int_equal(drain_hint_ms(&d, 2 * S), 100);
    assert_int_equal(drain_hint_ms(&d, 2 * S), 200);
    for (int i = 0; i < 8; i++)
        drain_hint_ms(&d, 2 * S);
    assert_int_equal(drain_hint_ms(&d, 2 * S), 1100);
}

static void hint_is_clamped(void **state)
{
    (void)state;
    struct drain d;
    drain_init(&d);
    drain_sample(&d, 0, 1 * S);
    drain_sample(&d, 100000, 2 * S);
    assert_int_equal(drain_hint_ms(&d, 2 * S), DRAIN_HINT_MIN_MS);
    for (int i = 0; i < 10000000; i++)
        drain_hint_ms(&d, 2 * S);
    assert_int_equal(drain_hint_ms(&d, 2 * S), DRAIN_HINT_MAX_MS);
}

static void a_queue_that_stands_still_is_asked_more_and_more_rarely(void **state)
{
    (void)state;
    struct drain d;
    drain_init(&d);
    drain_sample(&d, 0, 1 * S);
    drain_sample(&d, 1000, 2 * S);
    for (int t = 3; t <= 12; t++)
        drain_sample(&d, 1000, t * S);
    assert_int_equal(drain_hint_ms(&d, 12 * S), 10000);
    assert_int_equal(drain_hint_ms(&d, 500 * S), DRAIN_HINT_MAX_MS);
    drain_sample(&d, 1000, 500 * S);
    drain_sample(&d, 1500, 501 * S); /* it moves again */
    assert_true(drain_hint_ms(&d, 501 * S) < 2000);
}

static void a_recreated_stream_starts_the_measurement_afresh(void **state)
{
    (void)state;
    struct drain d;
    drain_init(&d);
    drain_sample(&d, 5000, 1 * S);
    drain_sample(&d, 6000, 2 * S);
    drain_sample(&d, 3, 3 * S);
    assert_int_equal(drain_hint_ms(&d, 3 * S), DRAIN_HINT_FIRST_MS);
    drain_sample(&d, 13, 4 * S);
    assert_int_equal(drain_hint_ms(&d, 4 * S), 100);
}

static void samples_that_come_too_close_are_ignored(void **state)
{
    (void)state;
    struct drain d;
    drain_init(&d);
    drain_sample(&d, 0, 1 * S);
    drain_sample(&d, 1000, 1 * S + 1000);
    drain_sample(&d, 1000, 2 * S);
    assert_int_equal((int)d.per_s, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_a_default_while_nothing_is_known),
        cmocka_unit_test(hint_follows_the_rate_and_those_sent_away),
        cmocka_unit_test(hint_is_clamped),
        cmocka_unit_test(a_queue_that_stands_still_is_asked_more_and_more_rarely),
        cmocka_unit_test(a_recreated_stream_starts_the_measurement_afresh),
        cmocka_unit_test(samples_that_come_too_close_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
