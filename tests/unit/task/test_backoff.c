#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/backoff.h"

static void doubles_from_the_base(void **state)
{
    (void)state;
    int64_t want = 30000;
    for (uint32_t attempt = 1; attempt <= 7; attempt++, want *= 2) {
        assert_int_equal(backoff_ms(attempt, 30000, 3600000, 0.5), want > 3600000 ? 3600000 : want);
    }
    assert_int_equal(backoff_ms(0, 30000, 3600000, 0.5), 30000);
}

static void jitter_is_a_tenth_either_way(void **state)
{
    (void)state;
    assert_in_range(backoff_ms(1, 10000, 3600000, 0), 8999, 9000);
    assert_in_range(backoff_ms(1, 10000, 3600000, 0.999999), 10999, 11000);
    /* also at the cap, else all that reached it come back in step */
    assert_in_range(backoff_ms(30, 10000, 100000, 0), 89999, 90000);
    assert_in_range(backoff_ms(30, 10000, 100000, 0.999999), 109999, 110000);
}

static void gaps_grow_whatever_the_dice_say(void **state)
{
    (void)state;
    for (uint32_t attempt = 1; attempt < 6; attempt++) {
        assert_true(backoff_ms(attempt, 100, 1000000, 0.999999) <
                    backoff_ms(attempt + 1, 100, 1000000, 0));
    }
}

static void never_overflows_never_below_one(void **state)
{
    (void)state;
    static const int64_t values[] = {INT64_MIN,     -1,       0, 1, 2, 3, 1000, INT64_MAX / 2,
                                     INT64_MAX - 1, INT64_MAX};
    static const uint32_t attempts[] = {0, 1, 2, 62, 63, 64, 65, 1000, UINT32_MAX};
    static const double dice[] = {-1, 0, 0.5, 0.9999999999, 1, 2, __builtin_nan("")};
    for (size_t b = 0; b < sizeof(values) / sizeof(values[0]); b++) {
        for (size_t c = 0; c < sizeof(values) / sizeof(values[0]); c++) {
            for (size_t a = 0; a < sizeof(attempts) / sizeof(attempts[0]); a++) {
                for (size_t d = 0; d < sizeof(dice) / sizeof(dice[0]); d++) {
                    int64_t ms = backoff_ms(attempts[a], values[b], values[c], dice[d]);
                    assert_true(ms >= 1);
                    double cap = values[c] < 1 ? 1 : (double)values[c];
                    assert_true((double)ms <= cap * 1.1 + 1);
                }
            }
        }
    }
    assert_int_equal(backoff_ms(5, 1, 1, 0), 1);
    assert_int_equal(backoff_ms(1, 50, 10, 0.5), 10); /* the smaller wins */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_from_the_base),
        cmocka_unit_test(jitter_is_a_tenth_either_way),
        cmocka_unit_test(gaps_grow_whatever_the_dice_say),
        cmocka_unit_test(never_overflows_never_below_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
