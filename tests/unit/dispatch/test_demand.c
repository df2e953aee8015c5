/* Demand follows the server's waiting queue: who is next, how much each pull may hold, and what an
 * info corrects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dispatch/pool/demand.h"

#define BATCH 20
#define SECOND 1000000000LL

static struct pull_request request(int64_t n)
{
    return (struct pull_request){.batch = n, .expires_ns = 30 * SECOND};
}

static void ask(struct demand *d, int64_t n, int64_t now)
{
    struct pull_request r = request(n);
    demand_add(d, &r, BATCH, now);
}

static struct pull *take(struct demand *d, int64_t now)
{
    struct pull *p = demand_next(d, BATCH, now);
    if (p != NULL)
        demand_take(d, p);
    return p;
}

static void end(struct demand *d, struct pull **held, int n)
{
    for (int i = 0; i < n; i++)
        demand_ended(d, held[i]);
    demand_forget(d);
}

static void nobody_waits(void **state)
{
    (void)state;
    struct demand d = {0};
    assert_null(demand_next(&d, BATCH, 0));
    assert_int_equal(demand_grantable(&d, BATCH, 1000, 0), 0);
}

static void pulls_take_turns(void **state)
{
    (void)state;
    struct demand d = {0};
    struct pull *held[4];
    ask(&d, 2, 0);
    ask(&d, 2, 0);
    for (int i = 0; i < 4; i++)
        held[i] = take(&d, 0);
    assert_ptr_equal(held[0], held[2]);
    assert_ptr_equal(held[1], held[3]);
    assert_ptr_not_equal(held[0], held[1]);
    assert_null(take(&d, 0)); /* both have what they asked for */
    end(&d, held, 4);
}

static void a_greedy_pull_gets_one_batch(void **state)
{
    (void)state;
    struct demand d = {0};
    struct pull *held[BATCH + 1];
    ask(&d, 500, 0);
    assert_int_equal(demand_grantable(&d, BATCH, 1000, 0), BATCH);
    for (int i = 0; i < BATCH; i++)
        assert_non_null(held[i] = take(&d, 0));
    assert_null(take(&d, 0));
    assert_int_equal(demand_grantable(&d, BATCH, 1000, 0), 0);
    demand_ended(&d, held[0]);
    assert_non_null(held[0] = take(&d, 0)); /* one ended, one more */
    end(&d, held, BATCH);
}

/* The server would give the next task to the saturated pull at the head, so there is none for those
 * behind it. */
static void a_saturated_head_holds_the_turn(void **state)
{
    (void)state;
    struct demand d = {0};
    struct pull *held[BATCH];
    ask(&d, 500, 0);
    for (int i = 0; i < BATCH; i++)
        held[i] = take(&d, 0);
    ask(&d, 1, 0);
    assert_null(take(&d, 0));
    demand_ended(&d, held[0]);
    assert_non_null(held[0] = take(&d, 0));
    struct pull *other = take(&d, 0);
    assert_non_null(other);
    assert_ptr_not_equal(other, held[0]);
    demand_ended(&d, other);
    end(&d, held, BATCH);
}

static void expired_pulls_are_forgotten(void **state)
{
    (void)state;
    struct demand d = {0};
    ask(&d, 5, 0);
    assert_non_null(demand_next(&d, BATCH, 30 * SECOND - 1));
    assert_null(demand_next(&d, BATCH, 30 * SECOND));
    assert_int_equal(d.count, 0);
}

static void a_pull_without_expiry_stays(void **state)
{
    (void)state;
    struct demand d = {0};
    demand_add(&d, &(struct pull_request){.batch = 1}, BATCH, 0);
    assert_non_null(demand_next(&d, BATCH, INT64_MAX - 1));
    demand_forget(&d);
}

static void no_wait_wants_one_batch_at_most(void **state)
{
    (void)state;
    struct demand d = {0};
    demand_add(&d, &(struct pull_request){.batch = 500, .no_wait = true}, BATCH, 0);
    assert_int_equal(demand_grantable(&d, 1000, 1000, 0), BATCH);
    assert_null(demand_next(&d, BATCH, 2 * SECOND)); /* and does not wait for long */
    demand_forget(&d);
}

static void given_back_is_wanted_again(void **state)
{
    (void)state;
    struct demand d = {0};
    ask(&d, 1, 0);
    struct pull *p = take(&d, 0);
    assert_null(take(&d, 0));
    demand_give_back(&d, p);
    assert_ptr_equal(take(&d, 0), p);
    end(&d, &p, 1);
}

static void undelivered_hand_offs_use_up_the_next_pull(void **state)
{
    (void)state;
    struct demand d = {0};
    ask(&d, 5, 0);
    demand_reconcile(&d, 0, 3, BATCH, 0); /* three lie there: nobody was waiting after all */
    assert_null(demand_next(&d, BATCH, 0));
    ask(&d, 5, 0);
    assert_int_equal(demand_grantable(&d, BATCH, 1000, 0), 2);
    demand_forget(&d);
}

static void what_is_taken_back_is_not_found(void **state)
{
    (void)state;
    struct demand d = {0};
    struct pull *held[1];
    demand_reconcile(&d, 0, 1, BATCH, 0);
    demand_withdrawn(&d);
    ask(&d, 1, 0);
    held[0] = take(&d, 0);
    assert_non_null(held[0]);
    demand_withdrawn(&d); /* none is known: as many stay */
    assert_int_equal(d.undelivered, 0);
    end(&d, held, 1);
}

static void one_that_polls_is_told_apart(void **state)
{
    (void)state;
    struct demand d = {0};
    const struct pull_request list[] = {{.batch = 1, .no_wait = true},
                                        {.batch = 1, .no_wait = true, .expires_ns = SECOND},
                                        {.batch = 1, .expires_ns = SECOND},
                                        {.batch = 1}};
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        demand_add(&d, &list[i], BATCH, 0);
        assert_int_equal(demand_next(&d, BATCH, 0)->polls, i == 0);
        demand_forget(&d);
    }
}

static void an_info_taken_in_the_middle_says_nothing(void **state)
{
    (void)state;
    struct demand d = {0};
    ask(&d, 5, 0);
    demand_reconcile(&d, 1, 3, BATCH, 0); /* the three are on their way to the pull that waits */
    assert_int_equal(d.count, 1);
    assert_int_equal(demand_grantable(&d, BATCH, 1000, 0), 5);
    ask(&d, 2, 0); /* and take nothing from the next one */
    assert_int_equal(demand_grantable(&d, BATCH, 1000, 0), 7);
    demand_forget(&d);
}

static void an_info_adds_pulls_that_were_not_heard(void **state)
{
    (void)state;
    struct demand d = {0};
    demand_reconcile(&d, 3, 0, BATCH, 0);
    assert_int_equal(d.count, 3);
    assert_int_equal(demand_grantable(&d, BATCH, 1000, 0), 3 * BATCH);
    demand_reconcile(&d, 1, 0, BATCH, 0);
    assert_int_equal(d.count, 1);
    demand_forget(&d);
    assert_int_equal(d.count, 0);
}

static void extremes_are_borne(void **state)
{
    (void)state;
    struct demand d = {0};
    const int64_t numbers[] = {1, 1000000, INT64_MAX};
    for (int i = 0; i < 9; i++) {
        struct pull_request r = {.batch = numbers[i % 3], .expires_ns = numbers[i / 3]};
        demand_add(&d, &r, BATCH, INT64_MAX - SECOND);
    }
    assert_int_equal(d.count, 9);
    assert_int_equal(demand_grantable(&d, BATCH, INT64_MAX, 0), 3 + 6 * BATCH);
    struct pull *held = take(&d, 0);
    demand_give_back(&d, held);
    demand_forget(&d);
}

static void a_flood_of_pulls_is_bounded(void **state)
{
    (void)state;
    struct demand d = {0};
    for (int i = 0; i < DEMAND_WAITING_MAX + 100; i++)
        ask(&d, 1, 0);
    assert_int_equal(d.count, DEMAND_WAITING_MAX);
    demand_reconcile(&d, INT64_MAX, 0, BATCH, 0);
    assert_int_equal(d.count, DEMAND_WAITING_MAX);
    demand_reconcile(&d, 3, INT64_MAX, BATCH, 0); /* of both at once: says nothing */
    demand_reconcile(&d, 0, INT64_MAX, BATCH, 0);
    assert_int_equal(d.count, 0);
    ask(&d, INT64_MAX, 0); /* all of it goes to what is undelivered */
    assert_int_equal(d.count, 0);
    demand_forget(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits),
        cmocka_unit_test(what_is_taken_back_is_not_found),
        cmocka_unit_test(one_that_polls_is_told_apart),
        cmocka_unit_test(an_info_taken_in_the_middle_says_nothing),
        cmocka_unit_test(pulls_take_turns),
        cmocka_unit_test(a_greedy_pull_gets_one_batch),
        cmocka_unit_test(a_saturated_head_holds_the_turn),
        cmocka_unit_test(expired_pulls_are_forgotten),
        cmocka_unit_test(a_pull_without_expiry_stays),
        cmocka_unit_test(no_wait_wants_one_batch_at_most),
        cmocka_unit_test(given_back_is_wanted_again),
        cmocka_unit_test(undelivered_hand_offs_use_up_the_next_pull),
        cmocka_unit_test(an_info_adds_pulls_that_were_not_heard),
        cmocka_unit_test(extremes_are_borne),
        cmocka_unit_test(a_flood_of_pulls_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
