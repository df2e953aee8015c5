/* Foreign text made safe: which characters are escaped, how, where it is cut, and that unescaping
 * gives the text back. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/safe_format.h"
#include "base/text/safe_text.h"

static const char *safe(const char *text, enum safe_text_kind kind)
{
    static char out[400];
    safe_text(text, strlen(text), kind, out, sizeof(out));
    return out;
}

static void controls_are_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"plain text", "plain text"},
        {"\x1b]0;owned\x07", "\\x1b]0;owned\\x07"},
        {"a\nb\tc\r\x7f", "a\\x0ab\\x09c\\x0d\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"}, /* CSI in UTF-8 */
        {"\x9b"
         "31m",
         "\\x9b31m"},                /* CSI as one byte: not UTF-8 */
        {"\xe2\x80\xae", "\\u202e"}, /* right-to-left override */
        {"\xd8\x9c\xe2\x81\xa6\xe2\x81\xa9", "\\u061c\\u2066\\u2069"},
        {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
        {"pay\xe2\x80\x8bload\xef\xbb\xbf", "pay\\u200bload\\ufeff"},
        {"pay\xe2\x80\x8dload", "pay\\u200dload"}, /* joiner before a letter */
        {"end\xe2\x80\x8d", "end\\u200d"},
        {"\xf3\xa0\x81\x81", "\\U000e0041"},            /* a tag character */
        {"\xc0\xafx\xe2\x80", "\\xc0\\xafx\\xe2\\x80"}, /* overlong, cut off */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},            /* a surrogate */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(safe(cases[i].in, SAFE_TEXT_FIELD), cases[i].out);
        assert_string_equal(safe(cases[i].in, SAFE_TEXT_MESSAGE), cases[i].out);
        bool same = strcmp(cases[i].in, cases[i].out) == 0;
        assert_int_equal(safe_text_is_plain(cases[i].in, strlen(cases[i].in)), same);
    }
    char out[16];
    assert_int_equal(safe_text("a\0b", 3, SAFE_TEXT_FIELD, out, sizeof(out)), 6);
    assert_string_equal(out, "a\\x00b");
}

static void scripts_and_emoji_stay(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "größe",
        "東京",
        "Привет",
        "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
        "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x9a\x80",         /* woman, joiner, rocket */
        "\xe2\x9d\xa4\xef\xb8\x8f",                             /* heart in colour */
        "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xb1\xd9\x88\xd8\xaf", /* Persian, non-joiner */
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_string_equal(safe(texts[i], SAFE_TEXT_FIELD), texts[i]);
}

static void a_backslash_is_no_escape(void **state)
{
    (void)state;
    assert_string_equal(safe("\\x1b", SAFE_TEXT_FIELD), "\\\\x1b");
    assert_string_equal(safe("\\\x1b", SAFE_TEXT_FIELD), "\\\\\\x1b");
    assert_string_equal(safe("\\d+ \\\"q\\\" end\\", SAFE_TEXT_BODY), "\\d+ \\\"q\\\" end\\");
    assert_string_equal(safe("\\x1b", SAFE_TEXT_MESSAGE), "\\x1b");
}

static void a_body_keeps_its_lines(void **state)
{
    (void)state;
    assert_string_equal(safe("a\n\tb\r\n\x1b[2J", SAFE_TEXT_BODY), "a\n\tb\\x0d\n\\x1b[2J");
}

static void it_is_cut_between_escapes(void **state)
{
    (void)state;
    const char *text = "a\x1b\xe2\x80\xae\xf3\xa0\x81\x81z";
    const char *whole = "a\\x1b\\u202e\\U000e0041z";
    for (size_t cap = 1; cap < 40; cap++) {
        char out[40];
        memset(out, '#', sizeof(out));
        size_t n = safe_text(text, strlen(text), SAFE_TEXT_FIELD, out, cap);
        assert_int_equal(n, strlen(out));
        assert_true(n < cap && strncmp(out, whole, n) == 0);
        assert_true(n == 0 || n == 1 || n == 5 || n == 11 || n == 21 || n == 22);
        for (size_t i = cap; i < sizeof(out); i++)
            assert_int_equal(out[i], '#');
    }
}

/* ---- unescaping */

static size_t put_utf8(unsigned long c, char *out)
{
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    size_t n = c <= 0xFFFF ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((n == 3 ? 0xE0 : 0xF0) | c);
    return n;
}

/* Returns the length of what safe was made of. */
static size_t unescape(const char *text, char *out)
{
    size_t n = 0;
    while (*text != '\0') {
        size_t digits = *text != '\\'    ? 0
                        : text[1] == 'x' ? 2
                        : text[1] == 'u' ? 4
                        : text[1] == 'U' ? 8
                                         : 0;
        if (digits > 0) {
            char hex[9] = "";
            memcpy(hex, text + 2, digits);
            unsigned long c = strtoul(hex, NULL, 16);
            if (digits == 2)
                out[n++] = (char)c;
            else
                n += put_utf8(c, out + n);
            text += 2 + digits;
            continue;
        }
        text += *text == '\\' && text[1] == '\\';
        out[n++] = *text++;
    }
    return n;
}

static void unescaping_gives_the_text_back(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "\\",       "x",    "u",           "1b",           "\x1b",
        "\xc2\x9b", "\x9b", "\xe2\x80",    "\xe2\x80\xae", "\xf3\xa0\x81\x81",
        "\n",       "é",    "\xe2\x80\x8d"};
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        char text[64] = "", out[4 * sizeof(text)], back[sizeof(out)];
        for (int i = 0; i < 8; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            strcat(text, parts[(seed >> 33) % (sizeof(parts) / sizeof(parts[0]))]);
        }
        safe_text(text, strlen(text), SAFE_TEXT_FIELD, out, sizeof(out));
        assert_true(safe_text_is_plain(out, strlen(out)));
        assert_int_equal(unescape(out, back), strlen(text));
        assert_memory_equal(back, text, strlen(text));
    }
}

/* ---- columns and formats */

static void columns_are_those_of_a_terminal(void **state)
{
    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_int_equal(safe_text_columns("abc"), 3);
    assert_int_equal(safe_text_columns("é"), 1);
    assert_int_equal(safe_text_columns("東京"), 4);
    assert_int_equal(safe_text_columns("e\xcc\x81"), 1); /* a combining accent */
    assert_int_equal(safe_text_columns("\\x1b"), 4);
}

__attribute__((format(printf, 2, 3))) static void expect(const char *wanted, const char *format,
                                                         ...)
{
    va_list args;
    va_start(args, format);
    char *text = safe_format(format, args);
    va_end(args);
    assert_string_equal(text, wanted);
    free(text);
}

static void only_what_is_put_in_is_escaped(void **state)
{
    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    expect("key  a\\x0ab\n", "%-4s %s\n", "key", "a\nb");
    expect("[\\x1b ][ \\x1b][東 ][ 東]", "[%-5s][%5s][%-3s][%3s]", "\x1b", "\x1b", "東", "東");
    expect("[ab][a    ][]", "[%.2s][%-*.*s][%*s]", "abc", 5, 1, "abc", 0, "");
    expect("[  x][x  ]", "[%*s][%*s]", 3, "x", -3, "x");
    expect("-5 7 ff 100% c 1234567890123 42 1.50 →", "%d %u %x 100%% %c %lld %zu %.2f →", -5, 7u,
           255u, 'c', 1234567890123LL, (size_t)42, 1.5);
    expect("[   12][12   ]", "[%5ld][%-5lu]", 12L, 12UL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controls_are_escaped),
        cmocka_unit_test(scripts_and_emoji_stay),
        cmocka_unit_test(a_backslash_is_no_escape),
        cmocka_unit_test(a_body_keeps_its_lines),
        cmocka_unit_test(it_is_cut_between_escapes),
        cmocka_unit_test(unescaping_gives_the_text_back),
        cmocka_unit_test(columns_are_those_of_a_terminal),
        cmocka_unit_test(only_what_is_put_in_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
