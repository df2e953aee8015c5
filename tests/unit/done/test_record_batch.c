#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "done/record_batch.h"

static struct record_batch full_batch(void)
{
    struct record_batch p = {.count = RECORD_BATCH_ENTRIES_MAX};
    memset(p.pool, 'p', NAME_MAX_CHARS);
    for (int i = 0; i < p.count; i++) {
        struct record_batch_entry *e = &p.entries[i];
        snprintf(e->task, sizeof(e->task), "%032d", i);
        e->attempt = UINT32_MAX;
        e->fence = UINT64_MAX;
        e->finished_ns = e->submitted = INT64_MIN;
    }
    return p;
}

static void batch_comes_back_as_packed(void **state)
{
    (void)state;
    const struct record_batch p = {
        .pool = "email",
        .count = 2,
        .entries = {{"0123456789abcdef0123456789abcdef", 3, 12345678901234567890u,
                     1896080400000000001, 1896080300000000002},
                    {"aNUIDof22characters000", 1, 7, 5, 4}}};
    uint8_t buf[RECORD_BATCH_MAX_BYTES];
    struct record_batch back;
    struct record r;
    size_t bytes = record_batch_pack(&p, buf);
    assert_true(bytes > 0 && bytes <= sizeof(buf));
    assert_int_equal(record_batch_unpack(&back, buf, bytes), AX_OK);
    assert_int_equal(back.count, 2);
    assert_true(record_batch_find(&back, "0123456789abcdef0123456789abcdef", &r));
    assert_int_equal(r.state, RECORD_DONE);
    assert_string_equal(r.pool, "email");
    assert_int_equal(r.attempt, 3);
    assert_true(r.fence == 12345678901234567890u);
    assert_int_equal(r.finished_ns, 1896080400000000001);
    assert_int_equal(r.submitted, 1896080300000000002);
    assert_true(record_batch_find(&back, "aNUIDof22characters000", &r));
    assert_int_equal(r.fence, 7);
    assert_false(record_batch_find(&back, "aNUIDof22characters001", &r));
    assert_false(record_batch_find(&back, "", &r));
}

static void fullest_batch_fits(void **state)
{
    (void)state;
    const struct record_batch p = full_batch();
    uint8_t buf[RECORD_BATCH_MAX_BYTES];
    struct record_batch back;
    size_t bytes = record_batch_pack(&p, buf);
    assert_true(bytes <= sizeof(buf));
    assert_int_equal(record_batch_unpack(&back, buf, bytes), AX_OK);
    assert_int_equal(back.count, RECORD_BATCH_ENTRIES_MAX);
    assert_memory_equal(back.entries[RECORD_BATCH_ENTRIES_MAX - 1].task,
                        p.entries[RECORD_BATCH_ENTRIES_MAX - 1].task, TASK_ID_CHARS + 1);
}

static void what_is_no_batch_is_refused(void **state)
{
    (void)state;
    struct record_batch p = full_batch(), back;
    uint8_t buf[RECORD_BATCH_MAX_BYTES * 3];
    size_t bytes = record_batch_pack(&p, buf);
    assert_int_equal(record_batch_unpack(&back, buf, 0), AX_E_NOT_FOUND);
    assert_int_equal(record_batch_unpack(&back, buf, bytes - 1), AX_E_PROTOCOL);
    assert_int_equal(record_batch_unpack(&back, "\xff\xff", 2), AX_E_PROTOCOL);
    assert_int_equal(record_batch_unpack(&back, "\x0a\x01p", 3), AX_E_PROTOCOL); /* no entries */
    /* protobuf: the lists are joined */
    memcpy(buf + bytes, buf, bytes);
    assert_int_equal(record_batch_unpack(&back, buf, 2 * bytes), AX_E_PROTOCOL);
    memcpy(buf + 2 * bytes, buf, bytes);
    assert_int_equal(record_batch_unpack(&back, buf, 3 * bytes), AX_E_PROTOCOL);
    p.count = 1;
    strcpy(p.entries[0].task, "no.id");
    assert_int_equal(record_batch_unpack(&back, buf, record_batch_pack(&p, buf)), AX_E_PROTOCOL);
    strcpy(p.entries[0].task, "id");
    strcpy(p.pool, "no pool");
    assert_int_equal(record_batch_unpack(&back, buf, record_batch_pack(&p, buf)), AX_E_PROTOCOL);
}

static void subject_names_the_batch(void **state)
{
    (void)state;
    char subject[SUBJECT_MAX_CHARS];
    struct record_batch_name back,
        name = {.writer = 0x0123456789abcdef, .number = 0xfe, .entries = 64};
    size_t chars = record_batch_subject(subject, &name);
    assert_int_equal(chars, strlen(subject));
    assert_string_equal(subject, "$KV.AX_DONE.page.64-0123456789abcdef000000fe");
    assert_true(record_batch_parse_subject(subject, &back));
    assert_true(back.writer == name.writer && back.number == name.number && back.entries == 64);
    static const char *const others[] = {"$KV.AX_DONE.page.64",
                                         "$KV.AX_DONE.page.65-0123456789abcdef000000fe",
                                         "$KV.AX_DONE.page.0-0123456789abcdef000000fe",
                                         "$KV.AX_DONE.page.99999999999-0123456789abcdef000000fe",
                                         "$KV.AX_DONE.page.64-0123456789abcdef000000f",
                                         "$KV.AX_DONE.page.64-0123456789abcdef000000fe0",
                                         "$KV.AX_DONE.page.64-0123456789ABCDEF000000fe",
                                         "$KV.AX_DONE.page",
                                         "$KV.AX_DONE.abc",
                                         ""};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(record_batch_parse_subject(others[i], &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_comes_back_as_packed),
        cmocka_unit_test(fullest_batch_fits),
        cmocka_unit_test(what_is_no_batch_is_refused),
        cmocka_unit_test(subject_names_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
