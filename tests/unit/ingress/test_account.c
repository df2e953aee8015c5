#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ingress/door/account.h"

#define SECOND 1000000000LL
#define MB (1LL << 20)

/* They live as long as the process. */
static struct account *all[8], *a;
static size_t count_of_all;

static void open_account(int64_t limit_bytes, int64_t rate_per_s)
{
    assert_int_equal(account_new(&a, limit_bytes, rate_per_s), AX_OK);
    all[count_of_all++] = a;
}

static enum account_verdict take(const char *pool, int64_t bytes, int64_t now_ns, struct charge *c)
{
    *c = (struct charge){0};
    return account_take(a, pool, strlen(pool), bytes, now_ns, c);
}

/* How many megabytes a pool gets that takes one after the other. */
static int fill(const char *pool, struct charge *kept)
{
    int count = 0;
    while (take(pool, MB, 0, &kept[count]) == ACCOUNT_TAKEN)
        count++;
    return count;
}

static void a_pool_leaves_as_much_as_it_holds(void **state)
{
    static struct charge one[64], two[64], three[64];
    struct charge c;
    (void)state;
    open_account(60 * MB, 0);
    assert_int_equal(fill("a", one), 30);
    assert_int_equal(take("a", MB, 0, &c), ACCOUNT_POOL_FULL);
    assert_int_equal(fill("b", two), 15);
    assert_int_equal(fill("c", three), 8);
    assert_int_equal(account_bytes(a), 53 * MB);
    assert_int_equal(take("d", 9 * MB, 0, &c), ACCOUNT_FULL);
    assert_int_equal(take("d", MB, 0, &c), ACCOUNT_TAKEN);
    account_give(a, &c);
    for (int i = 0; i < 30; i++)
        account_give(a, &one[i]);
    assert_int_equal(fill("b", two + 15), 11); /* 26 of b, 8 of c, 26 free */
    account_give(a, &one[0]);                  /* given back already */
    assert_int_equal(account_bytes(a), 34 * MB);
}

static void whatever_it_is_is_taken_alone(void **state)
{
    struct charge c, d;
    (void)state;
    open_account(MB, 0);
    assert_int_equal(take("a", 50 * MB, 0, &c), ACCOUNT_TAKEN);
    assert_int_equal(take("b", 1, 0, &d), ACCOUNT_FULL);
    assert_true(account_add(a, &c, 10 * MB, 0));
    account_give(a, &c);
    assert_int_equal(account_bytes(a), 0);
    assert_int_equal(take("b", MB / 4, 0, &d), ACCOUNT_TAKEN);
    assert_int_equal(take("a", MB / 4, 0, &c), ACCOUNT_TAKEN);
    assert_false(account_add(a, &c, MB, 0));
    assert_true(account_add(a, &c, MB / 4, 0));
    account_give(a, &c);
    account_give(a, &d);
    assert_int_equal(account_bytes(a), 0);
}

static void a_pool_has_its_rate(void **state)
{
    struct charge c;
    (void)state;
    open_account(1000 * MB, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(take("a", 1, SECOND, &c), ACCOUNT_TAKEN);
    assert_int_equal(take("a", 1, SECOND, &c), ACCOUNT_TOO_FAST);
    assert_int_equal(take("b", 1, SECOND, &c), ACCOUNT_TAKEN);
    assert_int_equal(take("a", 1, SECOND + SECOND / 10, &c), ACCOUNT_TAKEN);
    assert_int_equal(take("a", 1, SECOND + SECOND / 10, &c), ACCOUNT_TOO_FAST);
    /* A batch of 25 is a debt of two and a half seconds. */
    assert_int_equal(take("b", 1, SECOND, &c), ACCOUNT_TAKEN);
    assert_true(account_add(a, &c, 1, 32));
    assert_int_equal(take("b", 1, 3 * SECOND, &c), ACCOUNT_TOO_FAST);
    assert_int_equal(take("b", 1, 4 * SECOND, &c), ACCOUNT_TAKEN);
}

/* Any number of names that somebody makes up: memory is bounded, and old names go. */
static void names_are_bounded(void **state)
{
    char name[32];
    struct charge c, kept;
    (void)state;
    open_account(1000 * MB, 1);
    assert_int_equal(take("kept", 5, 0, &kept), ACCOUNT_TAKEN);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        assert_int_equal(take(name, 1, 0, &c), ACCOUNT_TAKEN);
        account_give(a, &c);
    }
    for (int i = 0; i < 100; i++) { /* two others of a minute later have entries of their own */
        assert_int_equal(take("late", 1, 60 * SECOND, &c),
                         i == 0 ? ACCOUNT_TAKEN : ACCOUNT_TOO_FAST);
        account_give(a, &c);
    }
    assert_int_equal(account_bytes(a), 5);
    account_give(a, &kept);
    assert_int_equal(account_bytes(a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_leaves_as_much_as_it_holds),
        cmocka_unit_test(whatever_it_is_is_taken_alone),
        cmocka_unit_test(a_pool_has_its_rate),
        cmocka_unit_test(names_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
