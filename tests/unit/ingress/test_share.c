#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "ingress/queue/share.h"

static double level(double bound, size_t n, const struct share *in)
{
    struct share list[64];
    for (size_t i = 0; i < n; i++)
        list[i] = in[i];
    return share_level(list, n, bound);
}

static void all_fits(void **state)
{
    (void)state;
    assert_true(isinf(share_level(NULL, 0, 100)));
    assert_true(isinf(level(100, 1, (struct share[]){{100, 1}})));
    assert_true(isinf(level(100, 3, (struct share[]){{50, 1}, {49, 7}, {1, 3}})));
}

static void large_ones_share_by_weight(void **state)
{
    (void)state;
    assert_true(fabs(level(100, 2, (struct share[]){{1000, 1}, {900, 1}}) - 50) < 1e-9);
    assert_true(fabs(level(100, 2, (struct share[]){{1000, 3}, {900, 1}}) - 25) < 1e-9);
    assert_true(fabs(level(100, 1, (struct share[]){{101, 4}}) - 25) < 1e-9);
}

/* A small one has what it would have; what it leaves is the others'. */
static void small_ones_are_not_cut(void **state)
{
    (void)state;
    assert_true(fabs(level(100, 2, (struct share[]){{1000, 1}, {4, 1}}) - 96) < 1e-9);
    assert_true(fabs(level(100, 4, (struct share[]){{1000, 1}, {5, 1}, {5, 2}, {1000, 2}}) - 30) <
                1e-9);
}

static void no_room_at_all(void **state)
{
    (void)state;
    assert_true(level(0, 2, (struct share[]){{10, 1}, {4, 1}}) == 0);
    assert_true(level(-7, 1, (struct share[]){{1, 1}}) == 0);
}

/* What is handed out is the bound, and nobody who is cut holds less by its weight than another. */
static void fills_the_bound(void **state)
{
    (void)state;
    srand48(5);
    for (int round = 0; round < 2000; round++) {
        struct share list[64];
        size_t n = 1 + (size_t)(lrand48() % 64);
        double bound = 1 + drand48() * 1000, would = 0, holds = 0;
        for (size_t i = 0; i < n; i++) {
            list[i] = (struct share){drand48() * 100, 1 + (double)(lrand48() % 100)};
            would += list[i].would_hold;
        }
        double l = level(bound, n, list);
        for (size_t i = 0; i < n; i++)
            holds += fmin(list[i].would_hold, l * list[i].weight);
        assert_true(fabs(holds - fmin(bound, would)) < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_fits),
        cmocka_unit_test(large_ones_share_by_weight),
        cmocka_unit_test(small_ones_are_not_cut),
        cmocka_unit_test(no_room_at_all),
        cmocka_unit_test(fills_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
