#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/peer/congestion.h"

static void subjects(void **state)
{
    (void)state;
    char priority[NAME_MAX_CHARS + 1], pool[NAME_MAX_CHARS + 1];
    assert_true(congestion_parse_subject("ax.held.high.e-mail_2", CONGESTION_OCCUPANCY_PREFIX,
                                         priority, pool));
    assert_string_equal(priority, "high");
    assert_string_equal(pool, "e-mail_2");
    static const char *const bad[] = {"",
                                      "ax.held.",
                                      "ax.held.high",
                                      "ax.held..email",
                                      "ax.held.high.",
                                      "ax.held.high.email.x",
                                      "ax.held.hi gh.email",
                                      "ax.refused.high.email",
                                      "ax.held.high.123456789012345678901234567890123"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(congestion_parse_subject(bad[i], CONGESTION_OCCUPANCY_PREFIX, priority, pool));
}

static void refusals_come_back(void **state)
{
    (void)state;
    uint8_t buf[CONGESTION_REFUSAL_MAX_BYTES];
    struct congestion_refusal r = {.count = UINT32_MAX}, back;
    memset(r.group, 0xE9, GROUP_MAX_BYTES);
    size_t bytes = congestion_pack_refusal(&r, buf);
    assert_true(bytes <= sizeof(buf));
    assert_int_equal(congestion_unpack_refusal(&back, buf, bytes), AX_OK);
    assert_string_equal(back.group, r.group);
    assert_int_equal(back.count, UINT32_MAX);
    r = (struct congestion_refusal){.group = "", .count = 1};
    assert_int_equal(congestion_unpack_refusal(&back, buf, congestion_pack_refusal(&r, buf)),
                     AX_OK);
    assert_string_equal(back.group, "");
    r = (struct congestion_refusal){.group = "acme", .count = 0}; /* it still submits */
    assert_int_equal(congestion_unpack_refusal(&back, buf, congestion_pack_refusal(&r, buf)),
                     AX_OK);
    assert_int_equal(back.count, 0);
    assert_int_equal(congestion_unpack_refusal(&back, "\xff\xff", 2), AX_E_PROTOCOL);
    assert_int_equal(congestion_unpack_refusal(&back,
                                               "\x0a\x03"
                                               "a\0b",
                                               5),
                     AX_E_PROTOCOL);
    uint8_t long_name[2 + GROUP_MAX_BYTES + 1] = {0x0a, GROUP_MAX_BYTES + 1};
    memset(long_name + 2, 'x', GROUP_MAX_BYTES + 1);
    assert_int_equal(congestion_unpack_refusal(&back, long_name, sizeof(long_name)), AX_E_PROTOCOL);
}

static void holdings_come_back(void **state)
{
    (void)state;
    struct congestion_occupancy h = {.groups = calloc(CONGESTION_GROUPS_MAX + 1, sizeof(*h.groups)),
                                     .others = 1ULL << 40},
                                back;
    size_t bytes;
    for (int n = 0; n <= CONGESTION_GROUPS_MAX; n = n * 7 + 1) {
        for (int i = 0; i < n; i++) {
            snprintf(h.groups[i].group, sizeof(h.groups[i].group), i == 0 ? "" : "tenant-%d", i);
            h.groups[i].tasks = (uint32_t)(i * 3);
        }
        h.count = (size_t)n;
        uint8_t *data = congestion_pack_occupancy(&h, &bytes);
        assert_non_null(data);
        assert_int_equal(congestion_unpack_occupancy(&back, data, bytes), AX_OK);
        assert_int_equal(back.count, n);
        assert_true(back.others == h.others);
        for (int i = 0; i < n; i++) {
            assert_string_equal(back.groups[i].group, h.groups[i].group);
            assert_int_equal(back.groups[i].tasks, h.groups[i].tasks);
        }
        congestion_clear_occupancy(&back);
        congestion_clear_occupancy(&back);
        free(data);
    }
    h.count = CONGESTION_GROUPS_MAX + 1;
    uint8_t *data = congestion_pack_occupancy(&h, &bytes);
    assert_int_equal(congestion_unpack_occupancy(&back, data, bytes), AX_E_PROTOCOL);
    assert_null(back.groups);
    free(data);
    free(h.groups);
    assert_int_equal(congestion_unpack_occupancy(&back, NULL, 0),
                     AX_OK); /* a queue without groups */
    assert_int_equal(back.count, 0);
    congestion_clear_occupancy(&back);
    assert_int_equal(congestion_unpack_occupancy(&back, "\x0a\xff", 2), AX_E_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(subjects),
                                       cmocka_unit_test(refusals_come_back),
                                       cmocka_unit_test(holdings_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
