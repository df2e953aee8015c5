#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "done/record.h"

static struct record pack_and_unpack(const struct record *r, uint8_t buf[RECORD_MAX_BYTES])
{
    struct record back;
    size_t bytes = record_pack(r, buf, RECORD_MAX_BYTES);
    assert_true(bytes > 0);
    assert_int_equal(record_unpack(&back, buf, bytes), AX_OK);
    return back;
}

static void record_comes_back_as_packed(void **state)
{
    (void)state;
    const struct record r = {.state = RECORD_DONE,
                             .pool = "email",
                             .attempt = 3,
                             .fence = 12345678901234567890u,
                             .finished_ns = 1896080400000000001,
                             .submitted = 1896080300000000002};
    uint8_t buf[RECORD_MAX_BYTES];
    struct record back = pack_and_unpack(&r, buf);
    assert_int_equal(back.state, RECORD_DONE);
    assert_string_equal(back.pool, "email");
    assert_int_equal(back.attempt, 3);
    assert_true(back.fence == r.fence);
    assert_int_equal(back.finished_ns, r.finished_ns);
    assert_int_equal(back.submitted, r.submitted);
    size_t bytes = record_pack(&r, buf, sizeof(buf));
    assert_int_equal(record_pack(&r, buf, bytes), bytes);
    assert_int_equal(record_pack(&r, buf, bytes - 1), 0);
}

static void longest_record_fits(void **state)
{
    (void)state;
    struct record r = {.state = RECORD_CANCELLED,
                       .attempt = UINT32_MAX,
                       .fence = UINT64_MAX,
                       .finished_ns = INT64_MIN,
                       .submitted = INT64_MIN};
    memset(r.pool, 'p', NAME_MAX_CHARS);
    uint8_t buf[RECORD_MAX_BYTES];
    struct record back = pack_and_unpack(&r, buf);
    assert_int_equal(back.state, RECORD_CANCELLED);
    assert_string_equal(back.pool, r.pool);
}

static void firing_names_its_task(void **state)
{
    (void)state;
    struct record r = {.state = RECORD_FIRED,
                       .attempt = UINT32_MAX,
                       .fence = UINT64_MAX,
                       .finished_ns = INT64_MIN,
                       .submitted = INT64_MIN};
    memset(r.pool, 'p', NAME_MAX_CHARS);
    memset(r.priority, 'q', NAME_MAX_CHARS);
    memset(r.task, 'a', TASK_ID_CHARS);
    uint8_t buf[RECORD_MAX_BYTES];
    struct record back = pack_and_unpack(&r, buf);
    assert_int_equal(back.state, RECORD_FIRED);
    assert_string_equal(back.task, r.task);
    assert_string_equal(back.priority, r.priority);
    assert_int_equal(record_unpack(&back, "\x08\x03\x12\x01p", 5), AX_E_PROTOCOL); /* no task */

    char subject[SUBJECT_MAX_CHARS];
    record_subject_fired(subject, "abc");
    assert_string_equal(subject, "$KV.AX_DONE.cron-abc");
}

static void what_is_no_record_is_told_apart(void **state)
{
    (void)state;
    struct record r;
    assert_int_equal(record_unpack(&r, NULL, 0), AX_E_NOT_FOUND);
    assert_int_equal(record_unpack(&r, "put by hand", 11), AX_E_PROTOCOL);
    /* a state of the future */
    assert_int_equal(record_unpack(&r, "\x08\x07\x12\x01p", 5), AX_E_PROTOCOL);
    assert_int_equal(record_unpack(&r, "\x12\x01p", 3), AX_E_PROTOCOL); /* no state */
    assert_int_equal(record_unpack(&r, "\x08\x01\x12\x03p.q", 7), AX_E_PROTOCOL);
    assert_int_equal(record_unpack(&r, "\x08\x01", 2), AX_E_PROTOCOL); /* no pool */
    assert_int_equal(record_unpack(&r, "\x08\x01\x12\x01p", 5), AX_OK);
    /* fields of a later version are no obstacle */
    assert_int_equal(record_unpack(&r, "\x08\x01\x12\x01p\x7a\x01x", 8), AX_OK);
}

static void subject_of_a_record(void **state)
{
    (void)state;
    char subject[SUBJECT_MAX_CHARS];
    assert_int_equal(record_subject(subject, "abc"), 15);
    assert_string_equal(subject, "$KV.AX_DONE.abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_comes_back_as_packed),
        cmocka_unit_test(longest_record_fits),
        cmocka_unit_test(firing_names_its_task),
        cmocka_unit_test(what_is_no_record_is_told_apart),
        cmocka_unit_test(subject_of_a_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
