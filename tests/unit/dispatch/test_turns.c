#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "dispatch/fair/turns.h"

#define MANY 64

/* The index of whose turn it was, which it has had. */
static int take(struct turns *ts, const struct turn *all)
{
    struct turn *t = turns_next(ts);
    assert_non_null(t);
    turns_take(ts, t);
    return (int)(t - all);
}

static void alone_and_nobody(void **state)
{
    (void)state;
    struct turns ts = {0};
    struct turn t = {.weight = 3};
    assert_null(turns_next(&ts));
    turns_remove(&ts, &t);
    turns_add(&ts, &t);
    turns_add(&ts, &t);
    for (int i = 0; i < 10; i++)
        assert_int_equal(take(&ts, &t), 0);
    turns_remove(&ts, &t);
    turns_remove(&ts, &t);
    assert_null(turns_next(&ts));
}

/* Takes all of its credit away, so that only the round robin is left. */
static void spend(struct turns *ts, struct turn *t)
{
    turns_add(ts, t);
    while (t->credit > 0)
        turns_take(ts, t);
}

static void by_weight(void **state)
{
    (void)state;
    struct turns ts = {0};
    struct turn t[3] = {{.weight = 3}, {.weight = 1}, {.weight = 2}};
    static const int want[] = {0, 0, 0, 1, 2, 2};
    for (int i = 0; i < 3; i++)
        spend(&ts, &t[i]);
    for (int i = 0; i < 60; i++)
        assert_int_equal(take(&ts, t), want[i % 6]);
}

static void by_weight_when_all_are_new(void **state)
{
    (void)state;
    struct turns ts = {0};
    struct turn t[3] = {{.weight = 3}, {.weight = 1}, {.weight = 2}};
    int had[3] = {0};
    for (int i = 0; i < 3; i++)
        turns_add(&ts, &t[i]);
    for (int i = 0; i < 600; i++) {
        had[take(&ts, t)]++;
        assert_true(abs(had[0] - 3 * had[1]) <= 6 && abs(had[2] - 2 * had[1]) <= 6);
    }
    assert_true(t[0].credit == 0 && t[1].credit == 0 && t[2].credit == 0);
}

/* One that is new goes first until it has had its credit, but for every fourth turn. */
static void new_ones_go_first(void **state)
{
    (void)state;
    struct turns ts = {0};
    struct turn t[3] = {{.weight = 1}, {.weight = 1}, {.weight = 2}};
    spend(&ts, &t[0]);
    turns_add(&ts, &t[1]);
    int had[3] = {0}, turns = 0;
    for (; t[1].credit > 0; turns++)
        had[take(&ts, t)]++;
    assert_int_equal(had[1], TURNS_CREDIT);
    assert_in_range(had[0], TURNS_CREDIT / TURNS_AHEAD - 1, TURNS_CREDIT / TURNS_AHEAD + 1);
    turns_add(&ts, &t[2]);
    had[0] = had[1] = 0;
    while (t[2].credit > 0)
        had[take(&ts, t)]++;
    assert_int_equal(had[2], 2 * TURNS_CREDIT);
    assert_true(abs(had[0] - had[1]) <= 1);
}

/* What is left of the credit is kept, and no more comes by coming and going. */
static void coming_and_going_gains_nothing(void **state)
{
    (void)state;
    struct turns ts = {0};
    struct turn t[2] = {{.weight = 1}, {.weight = 1}};
    long had = 0, of = 20000;
    spend(&ts, &t[0]);
    for (long i = 0; i < of; i++) {
        turns_add(&ts, &t[1]);
        if (take(&ts, t) == 1) {
            had++;
            turns_remove(&ts, &t[1]);
        }
    }
    assert_int_equal(t[1].credit, 0);
    assert_in_range(had, of / 2, of / 2 + TURNS_CREDIT);
}

/* However many new ones come: those that have waited all the time have every fourth turn. */
static void nobody_starves(void **state)
{
    (void)state;
    struct turns ts = {0};
    struct turn t[2 + 100] = {{.weight = 1}, {.weight = 1}};
    int had[2] = {0};
    spend(&ts, &t[0]);
    spend(&ts, &t[1]);
    for (int i = 0; i < 4000; i++) {
        struct turn *fresh = &t[2 + i % 100];
        turns_remove(&ts, fresh);
        *fresh = (struct turn){.weight = 5};
        turns_add(&ts, fresh);
        int whose = take(&ts, t);
        if (whose < 2)
            had[whose]++;
    }
    assert_in_range(had[0], 490, 510);
    assert_in_range(had[1], 490, 510);
}

/* A new weight counts from the next round on. */
static void weight_changes(void **state)
{
    (void)state;
    struct turns ts = {0};
    struct turn t[2] = {{.weight = 4}, {.weight = 1}};
    spend(&ts, &t[0]);
    spend(&ts, &t[1]);
    while (t[0].left == 0)
        take(&ts, t);
    int left = t[0].left;
    t[0].weight = 1;
    while (left-- > 0)
        assert_int_equal(take(&ts, t), 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(take(&ts, t), 1);
        assert_int_equal(take(&ts, t), 0);
    }
    turns_remove(&ts, &t[0]);
    turns_remove(&ts, &t[1]);
    assert_null(turns_next(&ts));
}

/* Over any stretch in which two wait all the time, turns are as weights to within a quantum of
 * each, whatever the others do meanwhile (Shreedhar and Varghese, theorem 1). */
static void fair_over_any_stretch(void **state)
{
    (void)state;
    struct turns ts = {0};
    struct turn t[MANY];
    long had[2] = {0};
    srand48(11);
    for (int i = 0; i < MANY; i++)
        t[i] = (struct turn){.weight = 1 + (int32_t)(lrand48() % 100)};
    for (int i = 0; i < MANY; i++)
        spend(&ts, &t[i]);
    double w0 = t[0].weight, w1 = t[1].weight, least = 0, most = 0;
    for (int i = 0; i < 200000; i++) {
        struct turn *other = &t[2 + lrand48() % (MANY - 2)];
        if (lrand48() % 2)
            turns_add(&ts, other);
        else
            turns_remove(&ts, other);
        int whose = take(&ts, t);
        if (whose < 2)
            had[whose]++;
        double apart = (double)had[0] / w0 - (double)had[1] / w1;
        least = apart < least ? apart : least;
        most = apart > most ? apart : most;
    }
    assert_true(had[0] > 100 && had[1] > 100);
    assert_true(most - least <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_and_nobody),
        cmocka_unit_test(by_weight),
        cmocka_unit_test(new_ones_go_first),
        cmocka_unit_test(by_weight_when_all_are_new),
        cmocka_unit_test(coming_and_going_gains_nothing),
        cmocka_unit_test(nobody_starves),
        cmocka_unit_test(weight_changes),
        cmocka_unit_test(fair_over_any_stretch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
