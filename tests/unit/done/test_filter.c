#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bloom.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

#include "done/filter.h"

#define DAY (86400LL * 1000000000LL)
#define TODAY (19000 * DAY + DAY / 2)

/* libbloom's opening call, taken over by the test so that it can fail as it does without memory. */
static bool no_memory;
static int opened;

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    assert_non_null(found);
    return found;
}

#ifdef NULL_BLOOM_FILTER
int bloom_init2(struct bloom *b, unsigned int entries, double error)
{
    opened++;
    int (*init)(struct bloom *, unsigned int, double) = real("bloom_init2");
    return no_memory ? 1 : init(b, entries, error);
}
#else
int bloom_init(struct bloom *b, int entries, double error)
{
    opened++;
    int (*init)(struct bloom *, int, double) = real("bloom_init");
    return no_memory ? 1 : init(b, entries, error);
}
#endif

static int set_up(void **state)
{
    (void)state;
    no_memory = false;
    opened = 0;
    return 0;
}

static struct filter *make(int days, int first_entries, double error)
{
    struct filter *f = NULL;
    assert_int_equal(filter_new(&f, days, first_entries, error), AX_OK);
    assert_non_null(f);
    return f;
}

static size_t name(char *buf, const char *kind, int i)
{
    return (size_t)snprintf(buf, 40, "%s%024x%04d", kind, (unsigned)i * 2654435761u, i % 10000);
}

static void add(struct filter *f, const char *kind, int from, int to, int64_t ns)
{
    char id[40];
    for (int i = from; i < to; i++) {
        size_t bytes = name(id, kind, i);
        assert_int_equal(filter_add(f, id, bytes, ns), AX_OK);
    }
}

static int maybes(struct filter *f, const char *kind, int from, int to)
{
    char id[40];
    int n = 0;
    for (int i = from; i < to; i++) {
        size_t bytes = name(id, kind, i);
        n += filter_check(f, id, bytes);
    }
    return n;
}

static void only_sensible_sizes(void **state)
{
    (void)state;
    struct filter *f = NULL;
    assert_int_equal(filter_new(&f, 0, 1024, 0.01), AX_E_INVALID);
    assert_int_equal(filter_new(&f, 32, 1024, 0.01), AX_E_INVALID);
    assert_int_equal(filter_new(&f, 7, 1023, 0.01), AX_E_INVALID);
    assert_int_equal(filter_new(&f, 7, 1024, 0), AX_E_INVALID);
    assert_int_equal(filter_new(&f, 7, 1024, 0.5), AX_E_INVALID);
    assert_int_equal(filter_new(&f, 7, 1024, __builtin_nan("")), AX_E_INVALID);
    assert_null(f);
    filter_free(NULL);
}

static void nothing_is_allocated_before_the_first_id(void **state)
{
    (void)state;
    struct filter *f = make(7, 1000000, 0.01);
    struct filter_stats st;
    assert_int_equal(maybes(f, "a", 0, 100), 0);
    filter_expire(f, TODAY);
    assert_int_equal(opened, 0);
    add(f, "a", 0, 1, TODAY);
    assert_int_equal(opened, 1);
    filter_stats(f, &st);
    assert_int_equal(st.generations, 1);
    assert_int_equal(st.entries, 1);
    assert_true(st.bytes > 1000000);
    filter_free(f);
}

static void what_was_added_is_never_denied_and_the_rest_rarely_claimed(void **state)
{
    (void)state;
    enum { N = 200000 };
    struct filter *f = make(7, N, 0.01);
    add(f, "a", 0, N, TODAY);
    assert_int_equal(maybes(f, "a", 0, N), N);
    int wrong = maybes(f, "b", 0, N);
    assert_in_range(wrong, N / 200, N / 100 * 5 / 4); /* 0.5% … 1.25% */
    for (int i = 0; i < 3; i++) {
        filter_was_false(f);
    }
    struct filter_stats st;
    filter_stats(f, &st);
    assert_int_equal(st.checks, 2 * N);
    assert_int_equal(st.maybes, N + wrong);
    assert_int_equal(st.negatives, N - wrong);
    assert_int_equal(st.false_positives, 3);
    assert_in_range(st.entries, N * 99 / 100, N);
    filter_free(f);
}

static void growing_keeps_the_rate(void **state)
{
    (void)state;
    enum { N = 200000 };
    struct filter *f = make(7, 1024, 0.01);
    add(f, "a", 0, N, TODAY);
    assert_true(opened > 5); /* 1024, 2048, 4096 … */
    assert_int_equal(maybes(f, "a", 0, N), N);
    assert_true(maybes(f, "b", 0, N) < N / 100 * 5 / 2);
    struct filter_stats st;
    filter_stats(f, &st);
    assert_int_equal(st.generations, 1);
    /* 200,000 ids at 10 to 16 bits, and a last filter that is half empty */
    assert_true(st.bytes < 1000000);
    /* the same again takes no more room */
    int before = opened;
    uint64_t entries = st.entries;
    add(f, "a", 0, N, TODAY);
    filter_stats(f, &st);
    assert_int_equal(opened, before);
    assert_true(st.entries == entries);
    filter_free(f);
}

static void days_fall_out(void **state)
{
    (void)state;
    struct filter *f = make(7, 1024, 0.0001);
    struct filter_stats st;
    for (int day = 6; day >= 0; day--) {
        char kind[4] = {(char)('a' + day), '\0'};
        add(f, kind, 0, 100, TODAY - day * DAY);
    }
    filter_stats(f, &st);
    assert_int_equal(st.generations, 7);
    filter_expire(f, TODAY);
    filter_stats(f, &st);
    assert_int_equal(st.generations, 7);
    assert_int_equal(maybes(f, "g", 0, 100), 100);
    /* the oldest day is in the window for as long as its last nanosecond is */
    filter_expire(f, 19001 * DAY - 1);
    assert_int_equal(maybes(f, "g", 0, 100), 100);
    filter_expire(f, 19002 * DAY);
    assert_int_equal(maybes(f, "g", 0, 100), 0);
    assert_int_equal(maybes(f, "f", 0, 100), 100);
    add(f, "z", 0, 100, TODAY - 6 * DAY); /* older than the window */
    assert_int_equal(maybes(f, "z", 0, 100), 0);
    filter_expire(f, TODAY + 100 * DAY);
    filter_stats(f, &st);
    assert_int_equal(st.generations, 0);
    assert_int_equal(st.bytes, 0);
    assert_int_equal(maybes(f, "a", 0, 100), 0);
    filter_free(f);
}

static void days_in_any_order_and_too_many(void **state)
{
    (void)state;
    struct filter *f = make(2, 1024, 0.0001);
    static const int order[] = {3, 0, 9, 5, -4, 7, 1, 20, 8, 2};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        char kind[4] = {(char)('a' + i), '\0'};
        add(f, kind, 0, 50, TODAY + order[i] * DAY);
    }
    struct filter_stats st;
    filter_stats(f, &st);
    assert_in_range(st.generations, 1, 4);
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        char kind[4] = {(char)('a' + i), '\0'};
        assert_int_equal(maybes(f, kind, 0, 50), 50);
    }
    /* nothing goes before its time, whatever came when there was no room */
    for (int day = 0; day < 25; day++) {
        filter_expire(f, TODAY + day * DAY);
        for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
            char kind[4] = {(char)('a' + i), '\0'};
            assert_true(order[i] < day - 2 || maybes(f, kind, 0, 50) == 50);
        }
    }
    filter_free(f);
}

static void without_memory_everything_is_maybe(void **state)
{
    (void)state;
    struct filter *f = make(7, 1024, 0.01);
    add(f, "a", 0, 10, TODAY - DAY);
    assert_true(maybes(f, "b", 0, 100) < 20);
    no_memory = true;
    assert_int_equal(filter_add(f, "x", 1, TODAY), AX_E_NOMEM);
    assert_true(filter_check(f, "x", 1));
    assert_int_equal(maybes(f, "b", 0, 100), 100);
    no_memory = false;
    /* x is missing from that day for good */
    assert_int_equal(filter_add(f, "y", 1, TODAY), AX_E_NOMEM);
    assert_int_equal(maybes(f, "b", 0, 100), 100);
    add(f, "c", 0, 10, TODAY + DAY);
    filter_expire(f, TODAY + 9 * DAY); /* that day is over: "no" is sure again */
    assert_true(maybes(f, "b", 0, 100) < 20);
    filter_free(f);
}

static void without_memory_for_growth_everything_is_maybe(void **state)
{
    (void)state;
    struct filter *f = make(7, 1024, 0.01);
    char id[40];
    no_memory = false;
    add(f, "a", 0, 500, TODAY);
    no_memory = true;
    ax_err err = AX_OK;
    int i = 500;
    for (; err == AX_OK && i < 5000; i++) {
        size_t bytes = name(id, "a", i);
        err = filter_add(f, id, bytes, TODAY);
    }
    assert_int_equal(err, AX_E_NOMEM);
    assert_in_range(i, 1024, 1100);
    assert_int_equal(maybes(f, "a", 0, 5000), 5000);
    assert_int_equal(maybes(f, "b", 0, 100), 100);
    filter_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_sensible_sizes, set_up),
        cmocka_unit_test_setup(nothing_is_allocated_before_the_first_id, set_up),
        cmocka_unit_test_setup(what_was_added_is_never_denied_and_the_rest_rarely_claimed, set_up),
        cmocka_unit_test_setup(growing_keeps_the_rate, set_up),
        cmocka_unit_test_setup(days_fall_out, set_up),
        cmocka_unit_test_setup(days_in_any_order_and_too_many, set_up),
        cmocka_unit_test_setup(without_memory_everything_is_maybe, set_up),
        cmocka_unit_test_setup(without_memory_for_growth_everything_is_maybe, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
