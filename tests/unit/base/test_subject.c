#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/subject.h"

static void plain_subjects(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "a.b", "$JS.API", "caf\xc3\xa9.b", "a-b_c.@"};
    static const char *const bad[] = {"",    ".",    "a.",    ".a",    "a..b", "a b", "a.*",
                                      "a.>", "a*.b", "a\t.b", "a\r\n", "\x7f", ">"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(subject_is_plain(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(subject_is_plain(bad[i], strlen(bad[i])));
    assert_true(subject_is_plain("a.b.", 3));
    assert_false(subject_is_plain("a\0b", 3));
}

static void prefixes_of_inboxes(void **state)
{
    (void)state;
    static const char *const good[] = {"_INBOX", "_INBOX_a", "team.a", "axe", "axe.a", "a.ax"};
    static const char *const bad[] = {"",      "$JS",    "$KV.AX_DONE", "ax",    "ax.queue", "_R_",
                                      "_R_.a", "_GR_.x", "_INBOX.",     "a.*.b", "a,b c",    ">"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(subject_is_inbox_prefix(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(subject_is_inbox_prefix(bad[i], strlen(bad[i])));
    char longest[SUBJECT_INBOX_PREFIX_MAX + 1];
    memset(longest, 'a', sizeof(longest));
    assert_true(subject_is_inbox_prefix(longest, SUBJECT_INBOX_PREFIX_MAX));
    assert_false(subject_is_inbox_prefix(longest, SUBJECT_INBOX_PREFIX_MAX + 1));
}

static char seen[64];

static bool note(void *arg, const char *item, size_t chars)
{
    size_t used = strlen(seen);
    snprintf(seen + used, sizeof(seen) - used, "[%.*s]", (int)chars, item);
    return --*(int *)arg > 0;
}

static const char *items(const char *list, int most, bool whole)
{
    seen[0] = '\0';
    assert_int_equal(subject_list_each(list, note, &most), whole);
    return seen;
}

static void lists_have_their_items_in_order(void **state)
{
    (void)state;
    assert_string_equal(items("a,b.c,d", 9, true), "[a][b.c][d]");
    assert_string_equal(items("a", 9, true), "[a]");
    assert_string_equal(items("", 9, true), "[]");
    assert_string_equal(items("a,", 9, true), "[a][]");
    assert_string_equal(items("a,b,c", 2, false), "[a][b]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_subjects),
        cmocka_unit_test(prefixes_of_inboxes),
        cmocka_unit_test(lists_have_their_items_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
