/* What is known of the order within a group: slots and pending retries, with a rebuild under way
 * and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "dispatch/attempt/attempt.h"
#include "dispatch/dispatch.h"
#include "dispatch/fair/group_queue.h"
#include "dispatch/fair/order_slot.h"
#include "dispatch/fair/pending_retry.h"
#include "dispatch/pool/pool.h"

static struct dispatch dispatch;
static struct pool pool;
static struct queue queue;
static struct group_queue gq;
static struct order_rebuild *const under_way = (struct order_rebuild *)&pool;

static int setup(void **state)
{
    (void)state;
    memset(&pool, 0, sizeof(pool));
    memset(&queue, 0, sizeof(queue));
    memset(&gq, 0, sizeof(gq));
    pool.dispatch = &dispatch;
    queue.pool = &pool;
    gq.queue = &queue;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    order_slot_clear(&queue);
    pending_retry_clear(&gq);
    assert_null(queue.slots);
    assert_null(gq.order.slots);
    assert_null(gq.order.pending_retries);
    assert_int_equal(gq.order.pending, 0);
    return 0;
}

static struct order_slot *put(uint64_t seq, bool retry)
{
    struct order_slot *s = order_slot_put(&gq, seq, retry);
    assert_non_null(s);
    return s;
}

static void check_order(const uint64_t *seqs, size_t n)
{
    const struct order_slot *s = gq.order.slots;
    for (size_t i = 0; i < n; i++, s = s->next) {
        assert_non_null(s);
        assert_int_equal(s->seq, seqs[i]);
    }
    assert_null(s);
}
#define CHECK_ORDER(...)                         \
    check_order((const uint64_t[]){__VA_ARGS__}, \
                sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void slots_are_in_the_order_of_the_queue(void **state)
{
    (void)state;
    put(5, false);
    put(9, false);
    put(7, false); /* redelivered late */
    put(2, false);
    CHECK_ORDER(2, 5, 7, 9);
    assert_ptr_equal(put(7, false), put(7, false));
    CHECK_ORDER(2, 5, 7, 9);
}

static void retries_come_before_first_attempts(void **state)
{
    (void)state;
    put(1, false);
    put(30, true);
    put(2, false);
    put(20, true);
    put(40, true);
    CHECK_ORDER(20, 30, 40, 1, 2);
}

static void an_ended_slot_goes_at_once(void **state)
{
    (void)state;
    put(1, false);
    put(2, false);
    order_slot_end(put(1, false));
    CHECK_ORDER(2);
    put(1, false); /* a new task, as far as anybody knows */
    CHECK_ORDER(1, 2);
}

static void an_ended_slot_is_not_read_again_by_a_rebuild(void **state)
{
    (void)state;
    put(1, false);
    put(2, false);
    pool.order.rebuild = under_way;
    pool.order.rebuilds++;
    order_slot_end(put(1, false));
    put(1, false); /* the rebuild read it before it ended */
    put(2, false);
    CHECK_ORDER(2);
    pool.order.rebuild = NULL;
    order_slot_tidy(&queue);
    CHECK_ORDER(2);
    assert_int_equal(HASH_COUNT(queue.slots), 1);
}

static void a_redelivered_message_is_in_the_order_again(void **state)
{
    (void)state;
    put(2, false);
    pool.order.rebuild = under_way;
    struct order_slot *s = put(1, false);
    order_slot_end(s);
    CHECK_ORDER(2);
    order_slot_revive(s);
    order_slot_revive(s);
    CHECK_ORDER(1, 2);
}

static void what_a_rebuild_has_not_seen_goes(void **state)
{
    (void)state;
    struct attempt attempt = {0};
    put(1, false);
    put(2, false)->attempt = &attempt; /* held here: it exists */
    put(3, false);
    pool.order.rebuilds++;
    put(3, false);
    order_slot_tidy(&queue);
    CHECK_ORDER(2, 3);
    attempt.turn.slot = gq.order.slots;
    order_slot_clear(&queue);
    assert_null(attempt.turn.slot);
}

static void a_retry_is_pending_until_its_task_ends(void **state)
{
    (void)state;
    assert_null(pending_retry_any(&gq));
    pending_retry_add(&gq, "a", true);
    pending_retry_add(&gq, "a", true);
    assert_int_equal(gq.order.pending, 1);
    assert_true(pending_retry_exists(&gq, "a"));
    assert_string_equal(pending_retry_any(&gq)->id, "a");
    pending_retry_end(&gq, "b");
    pending_retry_end(&gq, "a");
    assert_false(pending_retry_exists(&gq, "a"));
    assert_int_equal(gq.order.pending, 0);
    assert_null(gq.order.pending_retries);
}

static void a_rebuild_does_not_bring_back_a_retry_that_ended(void **state)
{
    (void)state;
    pending_retry_add(&gq, "a", true);
    pool.order.rebuild = under_way;
    pool.order.rebuilds++;
    pending_retry_end(&gq, "a");
    pending_retry_add(&gq, "a", false); /* read before it ended */
    assert_false(pending_retry_exists(&gq, "a"));
    assert_null(pending_retry_any(&gq));
    pending_retry_add(&gq, "a", true); /* it failed once more */
    assert_true(pending_retry_exists(&gq, "a"));
    assert_int_equal(gq.order.pending, 1);
    pending_retry_add(&gq, "b", false);
    pool.order.rebuild = NULL;
    pending_retry_tidy(&gq);
    assert_int_equal(gq.order.pending, 2);
    pool.order.rebuilds++;
    pending_retry_add(&gq, "b", false);
    pending_retry_tidy(&gq); /* a was not seen */
    assert_false(pending_retry_exists(&gq, "a"));
    assert_int_equal(gq.order.pending, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(slots_are_in_the_order_of_the_queue),
        TEST(retries_come_before_first_attempts),
        TEST(an_ended_slot_goes_at_once),
        TEST(an_ended_slot_is_not_read_again_by_a_rebuild),
        TEST(a_redelivered_message_is_in_the_order_again),
        TEST(what_a_rebuild_has_not_seen_goes),
        TEST(a_retry_is_pending_until_its_task_ends),
        TEST(a_rebuild_does_not_bring_back_a_retry_that_ended),
    };
    clock_init(&dispatch.clock);
    if (loop_new(&dispatch.loop, &dispatch.clock) != AX_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
