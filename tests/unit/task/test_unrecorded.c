#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/peer/unrecorded.h"

static struct unrecorded_attempt *made(size_t count)
{
    struct unrecorded_attempt *list = calloc(count, sizeof(*list));
    assert_non_null(list);
    for (size_t i = 0; i < count; i++) {
        snprintf(list[i].task, sizeof(list[i].task), "%032zx", i);
        list[i].attempt = (uint32_t)i + 1;
        list[i].fence = UINT64_MAX - i;
    }
    return list;
}

static void comes_back(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, UNRECORDED_MAX};
    for (size_t n = 0; n < sizeof(counts) / sizeof(*counts); n++) {
        struct unrecorded_attempt *list = made(counts[n]), *back;
        size_t bytes, count;
        uint8_t *buf = unrecorded_pack(list, counts[n], &bytes);
        assert_non_null(buf);
        assert_int_equal(unrecorded_unpack(&back, &count, buf, bytes), AX_OK);
        assert_int_equal(count, counts[n]);
        for (size_t i = 0; i < count; i++) {
            assert_string_equal(back[i].task, list[i].task);
            assert_int_equal(back[i].attempt, list[i].attempt);
            assert_true(back[i].fence == list[i].fence);
        }
        free(buf);
        free(back);
        free(list);
    }
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    struct unrecorded_attempt *back;
    size_t count = 7;
    assert_int_equal(unrecorded_unpack(&back, &count, NULL, 0), AX_OK);
    assert_int_equal(count, 0);
    free(back);
}

static void one_bad_entry_is_enough(void **state)
{
    (void)state;
    struct unrecorded_attempt *back;
    size_t bytes, count;
    for (int kind = 0; kind < 4; kind++) {
        struct unrecorded_attempt *list = made(3);
        if (kind == 0)
            list[2].task[0] = '\0';
        else if (kind == 1)
            list[2].task[4] = '.';
        else if (kind == 2)
            list[2].attempt = 0;
        else
            list[2].fence = 0;
        uint8_t *buf = unrecorded_pack(list, 3, &bytes);
        assert_int_equal(unrecorded_unpack(&back, &count, buf, bytes), AX_E_PROTOCOL);
        assert_null(back);
        assert_int_equal(count, 0);
        free(buf);
        free(list);
    }
    struct unrecorded_attempt *many = made(UNRECORDED_MAX + 1);
    uint8_t *buf = unrecorded_pack(many, UNRECORDED_MAX + 1, &bytes);
    assert_int_equal(unrecorded_unpack(&back, &count, buf, bytes), AX_E_PROTOCOL);
    assert_null(back);
    free(buf);
    free(many);
    assert_int_equal(unrecorded_unpack(&back, &count, "\xff\xff", 2), AX_E_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(one_bad_entry_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
