/* Shares of pools in a bounded place: what one may hold, and what stays free whoever comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "ingress/queue/pool_share.h"

#define NONE POOL_SHARE_NO_LIMIT

/* A pool with `holds` tasks of `total` comes with many. What it holds afterwards. */
static int64_t fill(double share, int64_t bound, int64_t *total, double lately)
{
    int64_t holds = 0;
    while (*total < bound) {
        int64_t limit = pool_share_limit(share, bound, *total, lately);
        if (limit != NONE && holds > 0 && holds >= limit)
            break;
        holds++;
        ++*total;
    }
    return holds;
}

static void without_contention_nothing_is_limited(void **state)
{
    (void)state;
    assert_true(pool_share_limit(1, 1000, 1000, 0) == NONE);
    assert_true(pool_share_limit(0.9, 0, 5, 0) == NONE);
    assert_true(pool_share_limit(0.9, -1, 5, 0) == NONE);
    assert_true(pool_share_limit(0.9, 1000, 0, 0) == NONE);
    assert_true(pool_share_limit(0.9, 1000, 899, 0) == NONE);
    assert_true(pool_share_limit(0.9, 1000, -3, 0) == NONE);
}

static void the_reserve_begins_where_the_share_ends(void **state)
{
    (void)state;
    assert_int_equal(pool_share_limit(0.9, 1000, 900, 0), 1);
    assert_int_equal(pool_share_limit(0.9, 1000, 900, 1e6), 900);
    assert_int_equal(pool_share_limit(0.9, 1000, 950, 1e6), 450);
    assert_int_equal(pool_share_limit(0.9, 1000, 950, 20), 40);
    assert_int_equal(pool_share_limit(0.9, 1000000, 950000, 0), 1000);
    assert_int_equal(pool_share_limit(0.9, 1000, 999, 1e6), 0);
    assert_int_equal(pool_share_limit(0.9, 1000, 1000, 1e6), 0);
    assert_int_equal(pool_share_limit(0.9, 1000, INT64_MAX, 1e6), 0);
    assert_int_equal(pool_share_limit(0, 1000, 10, 1e6), 0);
}

/* Nobody works for these: the first takes its share, and each of the others one place. */
static void pools_without_workers_leave_room_for_others(void **state)
{
    int64_t total = 0;
    (void)state;
    assert_int_equal(fill(0.9, 1000, &total, 0), 900);
    for (int i = 0; i < 50; i++)
        assert_int_equal(fill(0.9, 1000, &total, 0), 1);
    assert_int_equal(total, 950);
    /* One whose tasks are finished has most of what is left. */
    assert_int_equal(fill(0.9, 1000, &total, 1000), 45);
}

static void small_places_keep_the_last_one(void **state)
{
    (void)state;
    for (int64_t bound = 2; bound < 60; bound++) {
        int64_t total = 0;
        int64_t held = fill(0.9, bound, &total, 1e6);
        assert_true(held >= 1 && held <= bound - 1);
        assert_int_equal(fill(0.9, bound, &total, 1e6) >= 1, true);
    }
    int64_t total = 0;
    assert_int_equal(fill(0.9, 1, &total, 0), 1);
}

static void what_left_is_forgotten(void **state)
{
    (void)state;
    double lately = pool_share_lately(0, 0, 100);
    assert_true(lately == 100);
    lately = pool_share_lately(lately, POOL_SHARE_LATELY_S * 1000000000LL, 0);
    assert_true(lately > 36 && lately < 37);
    assert_true(pool_share_lately(lately, INT64_MAX, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_contention_nothing_is_limited),
        cmocka_unit_test(the_reserve_begins_where_the_share_ends),
        cmocka_unit_test(pools_without_workers_leave_room_for_others),
        cmocka_unit_test(small_places_keep_the_last_one),
        cmocka_unit_test(what_left_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
