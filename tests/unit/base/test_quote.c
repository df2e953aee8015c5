#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/quote.h"

static void text_is_one_line_of_ascii(void **state)
{
    (void)state;
    char buf[QUOTE_MAX];
    assert_string_equal(quote_text("", buf), "\"\"");
    assert_string_equal(quote_text("two words", buf), "\"two words\"");
    assert_string_equal(quote_text("a\nb\xc3\xa9\x7f", buf), "\"a?b???\"");
    assert_string_equal(quote_bytes("a\0b", 3, buf), "\"a?b\"");
    assert_string_equal(quote_bytes("abc", 2, buf), "\"ab\"");
}

static void long_text_is_cut(void **state)
{
    (void)state;
    char text[200], buf[QUOTE_MAX];
    memset(text, 'x', sizeof(text));
    for (size_t n = 60; n < sizeof(text); n++) {
        quote_bytes(text, n, buf);
        assert_true(strlen(buf) < QUOTE_MAX);
        assert_int_equal(strstr(buf, "...\"") != NULL, n > QUOTE_MAX - 6);
    }
}

static void json_is_shown_as_it_was_given(void **state)
{
    (void)state;
    char buf[QUOTE_MAX], text[200];
    json_t *value = json_pack("{s:i,s:[s]}", "a", 1, "b", "\xc3\xa9");
    assert_string_equal(quote_json(value, buf), "{\"a\":1,\"b\":[\"\\u00E9\"]}");
    json_decref(value);
    memset(text, 'x', sizeof(text));
    value = json_stringn(text, sizeof(text));
    assert_int_equal(strlen(quote_json(value, buf)), QUOTE_MAX - 1);
    assert_string_equal(buf + QUOTE_MAX - 4, "...");
    json_decref(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_one_line_of_ascii),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(json_is_shown_as_it_was_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
