#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/utf8.h"

static void lengths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"a", 1},
        {"\x7f", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x90\xa2", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xc3", 0},             /* cut */
        {"\xe2\x82", 0},         /* cut */
        {"\xc3(", 0},            /* no continuation */
        {"\x80", 0},             /* one without a beginning */
        {"\xc0\xaf", 0},         /* overlong */
        {"\xe0\x80\xaf", 0},     /* overlong */
        {"\xf0\x80\x80\xaf", 0}, /* overlong */
        {"\xed\xa0\x80", 0},     /* surrogate */
        {"\xf4\x90\x80\x80", 0}, /* above U+10FFFF */
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(utf8_length(cases[i].text, strlen(cases[i].text)), cases[i].length);
    assert_int_equal(utf8_length("\0", 1), 1);
    assert_int_equal(utf8_length("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lengths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
