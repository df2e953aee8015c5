/* Acks that wait for their attempt: several of one sequence, the one that fits is found, and their
 * number and age are bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dispatch/attempt/pending_acks.h"

static struct heard_ack ack(uint64_t seq, int64_t stored_ns, int64_t heard_ns)
{
    return (struct heard_ack){.work_seq = seq,
                              .stored_ns = stored_ns,
                              .heard_ns = heard_ns,
                              .payload = {.kind = ACK_ACK, .delay_ms = -1, .next = "x"}};
}

static void keep(struct pending_acks *p, uint64_t seq, int64_t stored_ns, int64_t heard_ns)
{
    struct heard_ack a = ack(seq, stored_ns, heard_ns);
    pending_acks_keep(p, &a);
}

static const struct heard_ack *find(const struct pending_acks *p, uint64_t seq, int64_t stored_ns)
{
    return pending_acks_find(p, seq, &(struct hand_off_time){.stored_ns = stored_ns},
                             CLOCK_OFFSET_UNKNOWN);
}

static void the_one_that_fits_is_found_among_forged_ones(void **state)
{
    (void)state;
    struct pending_acks p = {0};
    keep(&p, 7, 100, 1);
    keep(&p, 7, 200, 2);
    keep(&p, 8, 200, 2);
    keep(&p, 7, 300, 3);
    assert_int_equal(find(&p, 7, 200)->heard_ns, 2);
    assert_null(find(&p, 7, 200)->payload.next);
    assert_null(find(&p, 7, 201));
    assert_null(find(&p, 9, 200));
    pending_acks_drop(&p, 7);
    assert_null(find(&p, 7, 200));
    assert_int_equal(p.count, 1);
    pending_acks_forget(&p);
    assert_int_equal(p.count, 0);
}

static void a_repeated_one_was_heard_when_it_was_heard_first(void **state)
{
    (void)state;
    struct pending_acks p = {0};
    keep(&p, 7, 100, 1);
    struct heard_ack nak = ack(7, 100, 5);
    nak.payload.kind = ACK_NAK;
    pending_acks_keep(&p, &nak);
    assert_int_equal(p.count, 1);
    assert_int_equal(find(&p, 7, 100)->heard_ns, 1);
    assert_int_equal(find(&p, 7, 100)->payload.kind, ACK_NAK);
    pending_acks_forget(&p);
}

static void a_flood_for_one_sequence_pushes_out_neither_the_first_nor_others(void **state)
{
    (void)state;
    struct pending_acks p = {0};
    keep(&p, 7, 1, 1);
    keep(&p, 8, 1, 1);
    for (int i = 2; i < 1000; i++)
        keep(&p, 7, i, i);
    assert_int_equal(p.count, PENDING_ACKS_OF_ONE_MAX + 1);
    assert_non_null(find(&p, 7, 1));
    assert_non_null(find(&p, 7, 999));
    assert_null(find(&p, 7, 2));
    assert_non_null(find(&p, 8, 1));
    pending_acks_forget(&p);
}

static void the_oldest_sequences_go_where_there_are_too_many(void **state)
{
    (void)state;
    struct pending_acks p = {0};
    for (uint64_t seq = 1; seq <= PENDING_ACKS_MAX + 10; seq++)
        keep(&p, seq, 1, (int64_t)seq);
    assert_int_equal(p.count, PENDING_ACKS_MAX);
    assert_null(find(&p, 10, 1));
    assert_non_null(find(&p, 11, 1));
    assert_non_null(find(&p, PENDING_ACKS_MAX + 10, 1));
    pending_acks_forget(&p);
}

static void old_ones_are_forgotten_and_counted_once(void **state)
{
    (void)state;
    struct pending_acks p = {0};
    keep(&p, 1, 1, 10);
    struct heard_ack refused = ack(2, 1, 20);
    refused.refused = true;
    pending_acks_keep(&p, &refused);
    keep(&p, 3, 1, 30);
    keep(&p, 4, 1, 40);
    assert_int_equal(pending_acks_expire(&p, 40, 20), 1); /* 3: 1 is older, 2 was counted */
    assert_int_equal(p.count, 1);
    assert_int_equal(pending_acks_expire(&p, 40, 0), 0);
    assert_int_equal(pending_acks_expire(&p, 41, 0), 1);
    assert_int_equal(p.count, 0);
}

static void count_one(void *arg, struct heard_ack *a)
{
    *(int *)arg += 1;
    a->refused = true;
}

static void misfits_are_told(void **state)
{
    (void)state;
    struct pending_acks p = {0};
    int n = 0;
    keep(&p, 7, 100, 1);
    keep(&p, 7, 200, 2);
    keep(&p, 7, 300, 3);
    struct hand_off_time t = {.stored_ns = 200};
    pending_acks_each_misfit(&p, 7, &t, CLOCK_OFFSET_UNKNOWN, count_one, &n);
    pending_acks_each_misfit(&p, 8, &t, CLOCK_OFFSET_UNKNOWN, count_one, &n);
    assert_int_equal(n, 2);
    assert_false(find(&p, 7, 200)->refused);
    assert_true(find(&p, 7, 300)->refused);
    pending_acks_forget(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_that_fits_is_found_among_forged_ones),
        cmocka_unit_test(a_repeated_one_was_heard_when_it_was_heard_first),
        cmocka_unit_test(a_flood_for_one_sequence_pushes_out_neither_the_first_nor_others),
        cmocka_unit_test(the_oldest_sequences_go_where_there_are_too_many),
        cmocka_unit_test(old_ones_are_forgotten_and_counted_once),
        cmocka_unit_test(misfits_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
