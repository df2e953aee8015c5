/* Who crowds a feeder's window, and when what is given back returns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ingress/feed/crowd.h"

#define MS 1000000LL

/* One lives as long as its feeder, which is as long as the process. */
static struct crowd *a_crowd(void)
{
    static struct crowd *all[8];
    static int count;
    return all[count++] = crowd_new();
}

static struct crowd_pool *enter(struct crowd *c, const char *pool, int count)
{
    struct crowd_pool *p = NULL;
    for (int i = 0; i < count; i++)
        p = crowd_enter(c, pool);
    return p;
}

static void a_pool_that_is_held_up_gives_way_after_a_while(void **state)
{
    struct crowd *c = a_crowd();
    int64_t now = 5000 * MS;
    (void)state;
    struct crowd_pool *large = enter(c, "large", 100), *small = enter(c, "small", 10);
    crowd_held_up(large, now);
    crowd_held_up(small, now);
    assert_false(crowd_is_too_large(large, now + 199 * MS));
    assert_true(crowd_is_too_large(large, now + 200 * MS));
    assert_false(crowd_is_too_large(small, now + 200 * MS));
    /* No longer held up for a while: it begins anew. */
    crowd_held_up(large, now + 1000 * MS);
    assert_false(crowd_is_too_large(large, now + 1100 * MS));
    assert_false(crowd_is_too_large(NULL, now));
}

static void a_pool_whose_tasks_are_fed_keeps_half_a_second_of_them(void **state)
{
    struct crowd *c = a_crowd();
    int64_t now = 5000 * MS;
    (void)state;
    struct crowd_pool *p = enter(c, "fast", 200);
    for (int i = 0; i < 30; i++) {
        for (int k = 0; k < 20; k++)
            crowd_leave(p, true);
        enter(c, "fast", 20);
        crowd_held_up(p, now);
        crowd_tick(c, now);
        now += CROWD_TICK_MS * MS;
    }
    crowd_held_up(p, now);
    assert_true(crowd_is_too_large(p, now)); /* 200 in the window, 100 fed in half a second */
    for (int k = 0; k < 90; k++)
        crowd_leave(p, false);
    assert_false(crowd_is_too_large(p, now));
}

static void what_is_given_back_returns_evenly(void **state)
{
    struct crowd *c = a_crowd();
    struct crowd_pool *p = enter(c, "p", 1);
    int64_t now = 5000 * MS, last = 0;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        int64_t ms = crowd_return_ms(p, now);
        assert_true(ms >= 1000 && ms >= last && ms <= last + 1001);
        last = ms;
    }
    assert_true(last >= 3990 && last <= 4010); /* 1000 a second */
    for (int i = 0; i < 1000000; i++)
        last = crowd_return_ms(p, now);
    assert_int_equal(last, 600000);
    assert_int_equal(crowd_return_ms(NULL, now), 1000);
}

static void pools_are_forgotten(void **state)
{
    struct crowd *c = a_crowd();
    int64_t now = 5000 * MS;
    (void)state;
    struct crowd_pool *p = enter(c, "p", 1);
    crowd_held_up(p, now);
    crowd_tick(c, now + 1000 * MS);
    assert_ptr_equal(crowd_enter(c, "p"), p); /* still there */
    crowd_leave(p, true);
    crowd_leave(p, false);
    for (int i = 0; i < 100; i++)
        crowd_tick(c, now + (2000 + 100 * i) * MS);
    p = crowd_enter(c, "p");
    assert_false(crowd_is_too_large(p, now + 60000 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_that_is_held_up_gives_way_after_a_while),
        cmocka_unit_test(a_pool_whose_tasks_are_fed_keeps_half_a_second_of_them),
        cmocka_unit_test(what_is_given_back_returns_evenly),
        cmocka_unit_test(pools_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
