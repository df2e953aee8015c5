#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "stats/history.h"
#include "stats/window.h"

#define S 1000000000LL
#define MS 1000000LL

static void nothing_seen_is_told(void **state)
{
    (void)state;
    struct window w;
    window_init(&w, 60 * S, 5 * S);
    assert_int_equal(window_count(&w, 5 * S), 0);
    assert_int_equal(window_quantile_ns(&w, 0.5, 5 * S), -1);
}

static void quantiles_are_within_an_eighth(void **state)
{
    (void)state;
    for (int64_t ns = 100000; ns < 100000 * S; ns = ns * 5 / 4) {
        struct window w;
        window_init(&w, 60 * S, 0);
        for (int i = 0; i < 100; i++) {
            window_observe(&w, ns, S);
        }
        for (double q = 0.01; q <= 1; q += 0.33) {
            double found = (double)window_quantile_ns(&w, q, S);
            assert_true(found >= (double)ns * 0.875 - 1e5 && found <= (double)ns * 1.125 + 1e5);
        }
    }
    struct window w;
    window_init(&w, 60 * S, 0);
    for (int i = 1; i <= 1000; i++) {
        window_observe(&w, i * MS, S);
    }
    int64_t p50 = window_quantile_ns(&w, 0.5, S), p99 = window_quantile_ns(&w, 0.99, S);
    assert_true(p50 > 490 * MS && p50 < 510 * MS);
    assert_true(p99 > 950 * MS && p99 < 1030 * MS);
}

static void what_is_beyond_is_kept(void **state)
{
    (void)state;
    struct window w;
    window_init(&w, 60 * S, 0);
    window_observe(&w, INT64_MAX, S);
    window_observe(&w, -5, S);
    assert_int_equal(window_count(&w, S), 2);
    assert_true(window_quantile_ns(&w, 0.4, S) < MS);
    assert_true(window_quantile_ns(&w, 1, S) > 100000 * S);
}

static void the_past_is_forgotten(void **state)
{
    (void)state;
    struct window w;
    window_init(&w, 60 * S, 0);
    window_observe(&w, S, 10 * S);
    assert_int_equal(window_count(&w, 61 * S), 1); /* in the full half now */
    window_observe(&w, S, 70 * S);
    assert_int_equal(window_count(&w, 119 * S), 2);
    assert_int_equal(window_count(&w, 121 * S), 1);
    assert_int_equal(window_count(&w, 181 * S), 0);
    window_observe(&w, S, 200 * S);
    assert_int_equal(window_count(&w, 1000 * S), 0); /* after a long silence */
    window_observe(&w, S, 1000 * S);
    assert_int_equal(window_count(&w, 1001 * S), 1);
}

static void history_tells_differences(void **state)
{
    (void)state;
    struct history h;
    double v[HISTORY_SERIES] = {100};
    h = (struct history){0};
    history_note(&h, v, 7 * S);
    assert_true(history_rise(&h, 0, 60 * S) == 0);
    assert_int_equal(history_reach_ns(&h, 60 * S), 0);
    for (int i = 1; i <= 1000; i++) { /* one a second, and another that falls */
        v[0] = 100 + i;
        v[1] = -2 * i;
        history_note(&h, v, (7 + i) * S);
        int64_t reach = history_reach_ns(&h, 60 * S);
        assert_true(reach <= 65 * S && reach >= (i < 60 ? i : 60) * S);
        assert_true(history_rise(&h, 0, 60 * S) == (double)(reach / S));
        assert_true(history_rise(&h, 1, 60 * S) == -2 * (double)(reach / S));
    }
    int64_t all = history_reach_ns(&h, 1000 * S);
    assert_true(all >= 295 * S && all <= 305 * S);
    h = (struct history){0}; /* forgets everything */
    history_note(&h, v, 2000 * S);
    assert_true(history_rise(&h, 0, 300 * S) == 0);
}

static void what_is_not_known_is_passed_over(void **state)
{
    (void)state;
    struct history h = {0};
    double v[HISTORY_SERIES] = {NAN, 3};
    history_note(&h, v, 0);
    assert_true(history_rise(&h, 0, 60 * S) == 0 && history_rise(&h, 1, 60 * S) == 0);
    v[0] = 500; /* there were as many before: nobody had counted */
    v[1] = 4;
    history_note(&h, v, 6 * S);
    assert_true(history_rise(&h, 0, 60 * S) == 0 && history_rise(&h, 1, 60 * S) == 1);
    v[0] = 520;
    history_note(&h, v, 12 * S);
    assert_true(history_rise(&h, 0, 60 * S) == 20);
    v[0] = NAN;
    history_note(&h, v, 13 * S);
    assert_true(history_rise(&h, 0, 60 * S) == 0 && history_rise(&h, 1, 60 * S) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_seen_is_told),
        cmocka_unit_test(quantiles_are_within_an_eighth),
        cmocka_unit_test(what_is_beyond_is_kept),
        cmocka_unit_test(the_past_is_forgotten),
        cmocka_unit_test(history_tells_differences),
        cmocka_unit_test(what_is_not_known_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
