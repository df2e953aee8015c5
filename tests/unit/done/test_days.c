#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "done/days.h"

#define DAY_NS (86400LL * 1000000000LL)

struct entry {
    int64_t day;
    int value;
};

static int dropped;

static void drop(void *entry)
{
    dropped += ((struct entry *)entry)->value;
}

static int set_up(void **state)
{
    (void)state;
    dropped = 0;
    return 0;
}

static struct days make(int window)
{
    struct days d;
    assert_int_equal(days_init(&d, window, sizeof(struct entry)), AX_OK);
    return d;
}

static struct entry *put(struct days *d, int64_t day, int value)
{
    struct entry *e = days_get(d, day);
    e->value += value;
    return e;
}

static void a_day_of_any_time(void **state)
{
    (void)state;
    assert_int_equal(days_of_ns(0), 0);
    assert_int_equal(days_of_ns(DAY_NS - 1), 0);
    assert_int_equal(days_of_ns(DAY_NS), 1);
    assert_int_equal(days_of_ns(-1), -1);
    assert_int_equal(days_of_ns(-DAY_NS), -1);
    assert_int_equal(days_of_ns(-DAY_NS - 1), -2);
}

static void only_sensible_windows(void **state)
{
    (void)state;
    struct days d;
    assert_int_equal(days_init(&d, 0, sizeof(struct entry)), AX_E_INVALID);
    days_free(&d, drop);
    assert_int_equal(days_init(&d, DAYS_MAX + 1, sizeof(struct entry)), AX_E_INVALID);
    days_free(&d, drop);
}

static void newest_first_whatever_the_order(void **state)
{
    (void)state;
    struct days d = make(7);
    static const int64_t order[] = {103, 101, 105, 102, 103, 101};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        put(&d, order[i], 1);
    assert_int_equal(d.count, 4);
    static const struct entry want[] = {{105, 1}, {103, 2}, {102, 1}, {101, 2}};
    for (int i = 0; i < d.count; i++) {
        const struct entry *e = days_at(&d, i);
        assert_int_equal(e->day, want[i].day);
        assert_int_equal(e->value, want[i].value);
    }
    days_free(&d, drop);
    assert_int_equal(dropped, 6);
}

static void whole_days_fall_out(void **state)
{
    (void)state;
    struct days d = make(2);
    assert_false(days_is_over(&d, INT64_MIN + 1));
    for (int day = 100; day < 104; day++)
        put(&d, day, 1);
    days_expire(&d, 103 * DAY_NS, drop);
    assert_int_equal(d.count, 3);
    assert_int_equal(dropped, 1);
    assert_true(days_is_over(&d, 100));
    assert_false(days_is_over(&d, 101));
    days_expire(&d, 103 * DAY_NS + DAY_NS - 1, drop);
    assert_int_equal(dropped, 1);
    days_keep(&d, 1, drop);
    assert_int_equal(dropped, 3);
    assert_int_equal(((struct entry *)days_at(&d, 0))->day, 103);
    days_free(&d, drop);
    assert_int_equal(dropped, 4);
}

/* A clock that jumped: the list is full, and nothing is given up early. */
static void more_days_than_it_has_join_a_newer_one(void **state)
{
    (void)state;
    struct days d = make(1);
    for (int day = 10; day > 7; day--)
        put(&d, day, 1);
    assert_int_equal(put(&d, 5, 10)->day, 8);
    assert_int_equal(put(&d, 9, 10)->day, 9);
    assert_int_equal(put(&d, 20, 10)->day, 20); /* day 10's, which is day 20's from now on */
    assert_int_equal(d.count, 3);
    assert_int_equal(((struct entry *)days_at(&d, 0))->value, 11);
    days_free(&d, drop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_day_of_any_time, set_up),
        cmocka_unit_test_setup(only_sensible_windows, set_up),
        cmocka_unit_test_setup(newest_first_whatever_the_order, set_up),
        cmocka_unit_test_setup(whole_days_fall_out, set_up),
        cmocka_unit_test_setup(more_days_than_it_has_join_a_newer_one, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
