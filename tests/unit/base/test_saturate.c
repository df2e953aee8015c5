/* What would overflow stays at the nearest number that there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/saturate.h"

static const int64_t numbers[] = {INT64_MIN, INT64_MIN + 1, -1000000007,   -2,       -1, 0, 1,
                                  2,         1000000007,    INT64_MAX - 1, INT64_MAX};
#define COUNT (sizeof(numbers) / sizeof(numbers[0]))

static int64_t nearest(__int128 n)
{
    return n > INT64_MAX ? INT64_MAX : n < INT64_MIN ? INT64_MIN : (int64_t)n;
}

static void is_the_nearest_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            __int128 a = numbers[i], b = numbers[k];
            assert_true(saturate_add(numbers[i], numbers[k]) == nearest(a + b));
            assert_true(saturate_sub(numbers[i], numbers[k]) == nearest(a - b));
            assert_true(saturate_mul(numbers[i], numbers[k]) == nearest(a * b));
        }
    }
}

static void clamps(void **state)
{
    (void)state;
    assert_int_equal(saturate_clamp(INT64_MIN, 0, 10), 0);
    assert_int_equal(saturate_clamp(7, 0, 10), 7);
    assert_int_equal(saturate_clamp(INT64_MAX, 0, 10), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_nearest_number),
        cmocka_unit_test(clamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
