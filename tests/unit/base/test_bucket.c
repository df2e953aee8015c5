#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/rate/bucket.h"

#define S 1000000000LL

/* The promise, by brute force over every pair of starts: n starts within t seconds, n <= burst +
 * rate * t. */
static void check_windows(const int64_t *starts, size_t n, double rate, double burst)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; k < n; k++) {
            double seconds = (double)(starts[k] - starts[i]) / 1e9;
            if ((double)(k - i + 1) > burst + rate * seconds + 1e-6) {
                fail_msg("%zu starts within %f s at rate %f, burst %f", k - i + 1, seconds, rate,
                         burst);
            }
        }
    }
}

static void starts_empty_and_fills_to_the_burst(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 50, 10, 7 * S);
    assert_int_equal(bucket_available(&b, 7 * S), 0);
    assert_int_equal(bucket_take(&b, 7 * S), 0);
    assert_int_equal(bucket_wait_ns(&b, 7 * S), 20000000);
    assert_int_equal(bucket_take(&b, 7 * S + 19999999), 0);
    assert_int_equal(bucket_take(&b, 7 * S + 20000000), 1);
    assert_int_equal(bucket_available(&b, 8 * S), 10);
    assert_int_equal(bucket_available(&b, 800000 * S), 10);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(bucket_wait_ns(&b, 800000 * S), 0);
        assert_int_equal(bucket_take(&b, 800000 * S), 1);
    }
    assert_int_equal(bucket_take(&b, 800000 * S), 0);
}

static void rate_zero_is_unlimited(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 0, 1, 0);
    assert_true(bucket_available(&b, 0) == INT64_MAX);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(bucket_take(&b, 0), 1);
    }
    assert_int_equal(bucket_wait_ns(&b, 0), 0);
    /* limited from now on: nothing was saved up */
    bucket_set(&b, 10, 5, 100 * S);
    assert_int_equal(bucket_available(&b, 100 * S), 0);
    assert_int_equal(bucket_available(&b, 100 * S + S / 5), 2);
    bucket_set(&b, 0, 5, 101 * S);
    assert_true(bucket_available(&b, 101 * S) == INT64_MAX);
}

static void set_keeps_what_was_saved_up(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 10, 100, 0);
    bucket_set(&b, 1000, 100, 5 * S); /* 50 saved at the old rate */
    assert_int_equal(bucket_available(&b, 5 * S), 50);
    bucket_set(&b, 1000, 20, 5 * S);
    assert_int_equal(bucket_available(&b, 5 * S), 20);
    bucket_set(&b, 1000, 200, 5 * S);
    assert_int_equal(bucket_available(&b, 5 * S), 20);
    assert_int_equal(bucket_available(&b, 5 * S + S / 10), 120);
}

static void a_token_given_back_counts_once(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 10, 3, 0);
    assert_int_equal(bucket_take(&b, S), 1);
    assert_int_equal(bucket_available(&b, S), 2);
    bucket_return(&b);
    assert_int_equal(bucket_available(&b, S), 3);
    bucket_return(&b);
    assert_int_equal(bucket_available(&b, S), 3);
}

static void time_going_backwards_is_harmless(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 10, 1, 0);
    assert_int_equal(bucket_take(&b, S), 1);
    int taken = 0;
    for (int i = 0; i < 1000; i++) { /* back and forth over the same second */
        taken += bucket_take(&b, S / 2);
        taken += bucket_take(&b, S);
    }
    assert_int_equal(taken, 0);
    assert_int_equal(bucket_wait_ns(&b, S / 2), S / 2 + S / 10);
    assert_int_equal(bucket_take(&b, S + S / 10), 1);
}

static void extremes_do_not_overflow(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 1e-300, 1, INT64_MIN);
    assert_true(bucket_wait_ns(&b, INT64_MAX) == INT64_MAX);
    assert_int_equal(bucket_take(&b, INT64_MAX), 0);
    bucket_init(&b, 1e6, 1e6, INT64_MIN);
    assert_int_equal(bucket_available(&b, INT64_MAX), 1000000);
    assert_int_equal(bucket_take(&b, INT64_MAX), 1);
    assert_int_equal(bucket_take(&b, INT64_MIN), 1);
    bucket_init(&b, 1e6, 1e6, INT64_MAX);
    assert_true(bucket_wait_ns(&b, INT64_MIN) == INT64_MAX);
}

/* Always taking, waiting exactly as long as the bucket says: the whole rate, and never twice for
 * one token. */
static void whole_rate_when_always_taking(void **state)
{
    (void)state;
    static const double rates[] = {0.3, 1, 3, 7, 50, 333.3, 99999.9};
    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
        struct bucket b;
        int64_t start = 123456789123456789LL, now = start, end = start + 60 * S;
        bucket_init(&b, rates[r], 10, start);
        int64_t starts = 0, idle_wakes = 0;
        while (now < end) {
            if (bucket_take(&b, now)) {
                starts++;
                continue;
            }
            int64_t wait = bucket_wait_ns(&b, now);
            assert_true(wait > 0);
            now += wait;
            idle_wakes += bucket_available(&b, now) == 0;
        }
        assert_int_equal(idle_wakes, 0);
        assert_true((double)starts <= rates[r] * 60 + 1);
        assert_true((double)starts >= rates[r] * 60 * 0.98 - 1);
    }
}

/* Looking all the time loses nothing and gains nothing, even where one look adds less than a double
 * can hold. */
static void looking_often_does_not_drift(void **state)
{
    (void)state;
    struct bucket b;
    bucket_init(&b, 0.01, 1e6, 0);
    b.tokens = 999990;
    for (int64_t now = 0; now <= 900 * S; now += 1000003) {
        bucket_available(&b, now);
        bucket_wait_ns(&b, now);
    }
    assert_int_equal(bucket_available(&b, 900 * S), 999999);
    assert_int_equal(bucket_available(&b, 899 * S), 999998);
}

static void no_window_exceeds_the_bound(void **state)
{
    (void)state;
    srand48(20240501);
    enum { MAX = 4000 };
    static int64_t starts[MAX];
    for (int round = 0; round < 30; round++) {
        double rate = 0.5 + drand48() * 60, burst = 1 + drand48() * 20;
        struct bucket b;
        int64_t now = (int64_t)(drand48() * 1e18), end = now + 60 * S, latest = now;
        bucket_init(&b, rate, burst, now);
        size_t n = 0;
        while (now < end && n < MAX) {
            /* sometimes an old reading */
            int64_t seen = now - (drand48() < 0.2 ? (int64_t)(drand48() * 1e8) : 0);
            for (int tries = (int)(drand48() * 30); tries > 0 && n < MAX; tries--) {
                if (bucket_take(&b, seen)) {
                    /* an old reading counts as the last one */
                    latest = seen > latest ? seen : latest;
                    starts[n++] = latest;
                }
                /* a duplicate: not started after all */
                if (drand48() < 0.1 && n > 0 && starts[n - 1] == latest) {
                    bucket_return(&b);
                    n--;
                }
            }
            now += drand48() < 0.05 ? (int64_t)(drand48() * 3e9) : (int64_t)(drand48() * 3e7);
        }
        assert_true(n > 10);
        check_windows(starts, n, rate, burst);
    }
}

static void pool_of_the_promise(void **state)
{
    (void)state;
    enum { MAX = 4000 };
    static int64_t starts[MAX];
    struct bucket b;
    bucket_init(&b, 50, 10, 0);
    size_t n = 0;
    for (int64_t now = 0; now < 60 * S; now += 1000000 + (now / 1000) % 7777) {
        while (n < MAX && bucket_take(&b, now)) {
            starts[n++] = now;
        }
    }
    check_windows(starts, n, 50, 10);
    assert_true(n >= 50 * 60 * 98 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_empty_and_fills_to_the_burst),
        cmocka_unit_test(rate_zero_is_unlimited),
        cmocka_unit_test(set_keeps_what_was_saved_up),
        cmocka_unit_test(a_token_given_back_counts_once),
        cmocka_unit_test(time_going_backwards_is_harmless),
        cmocka_unit_test(extremes_do_not_overflow),
        cmocka_unit_test(whole_rate_when_always_taking),
        cmocka_unit_test(looking_often_does_not_drift),
        cmocka_unit_test(no_window_exceeds_the_bound),
        cmocka_unit_test(pool_of_the_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
