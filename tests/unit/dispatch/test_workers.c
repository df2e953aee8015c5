#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "dispatch/rate/workers.h"

#define S 1000000000LL

static void the_last_report_of_each_worker_counts(void **state)
{
    (void)state;
    struct workers w = {0};
    workers_observe(&w, "a", &(struct report){.capacity = 3, .busy = 1, .load = 1, .errors = 2},
                    1 * S);
    workers_observe(&w, "b", &(struct report){.capacity = 1, .busy = 1}, 2 * S);
    workers_observe(&w, "a", &(struct report){.capacity = 3, .busy = 2, .load = 1, .errors = 3},
                    3 * S);
    assert_int_equal(workers_count(&w), 2);
    assert_int_equal(w.capacity, 4);
    assert_int_equal(w.busy, 3);
    assert_true(w.errors == 5);
    assert_true(workers_load(&w, 2 * S) == 0.75); /* of both */
    assert_true(workers_load(&w, 3 * S) == 1);    /* of a */
    assert_true(workers_load(&w, 4 * S) == -1);
    w.errors = 0; /* told */
    workers_observe(&w, "b", &(struct report){.capacity = 1, .busy = 1, .errors = 1}, 4 * S);
    assert_true(w.errors == 1);
    workers_observe(&w, "a", &(struct report){0}, 4 * S); /* it stops */
    assert_true(workers_count(&w) == 1 && w.capacity == 1);
    workers_free(&w);
    assert_true(workers_count(&w) == 0 && w.capacity == 0 && w.busy == 0);
}

static void who_is_silent_is_forgotten(void **state)
{
    (void)state;
    struct workers w = {0};
    workers_observe(&w, "a", &(struct report){.capacity = 1}, 1 * S);
    workers_observe(&w, "b", &(struct report){.capacity = 1}, 2 * S);
    workers_observe(&w, "a", &(struct report){.capacity = 1}, 20 * S);
    workers_expire(&w, 2 * S + WORKERS_SILENT_NS);
    assert_int_equal(workers_count(&w), 2);
    workers_expire(&w, 3 * S + WORKERS_SILENT_NS);
    assert_int_equal(workers_count(&w), 1);
    workers_expire(&w, 21 * S + WORKERS_SILENT_NS);
    assert_int_equal(workers_count(&w), 0);
}

static void there_is_a_bound(void **state)
{
    (void)state;
    struct workers w = {0};
    char name[16];
    for (int i = 0; i < WORKERS_MAX + 100; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        workers_observe(&w, name, &(struct report){.capacity = 1}, i);
    }
    assert_int_equal(workers_count(&w), WORKERS_MAX);
    assert_int_equal(w.capacity, WORKERS_MAX);
    workers_expire(&w, WORKERS_SILENT_NS + 101); /* the first 100 had to go for the last ones */
    assert_int_equal(workers_count(&w), WORKERS_MAX - 1);
    workers_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_report_of_each_worker_counts),
        cmocka_unit_test(who_is_silent_is_forgotten),
        cmocka_unit_test(there_is_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
