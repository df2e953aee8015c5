/* Foreign text shown to people. Whatever it is: what comes out is UTF-8 without a character that a
 * terminal obeys or nobody sees, it stays within its buffer, and as a field it can be taken back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text/safe_text.h"
#include "base/text/utf8.h"
#include "check.h"

/* U+0080 to U+009F, directions, separators and tags, found by their bytes and not by the table. */
static int is_forbidden(const unsigned char *s, size_t n, int lines)
{
    if (n == 1)
        return (s[0] < ' ' && !(lines && (s[0] == '\n' || s[0] == '\t'))) || s[0] == 0x7F;
    if (n == 2)
        return (s[0] == 0xC2 && s[1] < 0xA0) || (s[0] == 0xD8 && s[1] == 0x9C);
    if (n == 3) {
        return (s[0] == 0xE2 && s[1] == 0x80 && (s[2] == 0x8B || (s[2] >= 0x8E && s[2] <= 0x8F))) ||
               (s[0] == 0xE2 && s[1] == 0x80 && s[2] >= 0xA8 && s[2] <= 0xAE) ||
               (s[0] == 0xE2 && s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9) ||
               (s[0] == 0xEF && s[1] == 0xBB && s[2] == 0xBF);
    }
    return s[0] == 0xF3 && s[1] == 0xA0;
}

static void check_output(const char *out, size_t n, int lines)
{
    CHECK(strlen(out) == n);
    for (size_t at = 0; at < n;) {
        size_t bytes = utf8_length(out + at, n - at);
        CHECK(bytes > 0);
        CHECK(!is_forbidden((const unsigned char *)out + at, bytes, lines));
        at += bytes;
    }
}

static unsigned long hex(const char *s, size_t digits)
{
    char text[9] = "";
    memcpy(text, s, digits);
    return strtoul(text, NULL, 16);
}

/* The bytes that this part of the output stands for; *taken: how long the part is. */
static size_t unescape(const char *s, unsigned char bytes[4], size_t *taken)
{
    size_t digits = *s != '\\' ? 0 : s[1] == 'x' ? 2 : s[1] == 'u' ? 4 : s[1] == 'U' ? 8 : 0;
    *taken = digits > 0 ? 2 + digits : s[0] == '\\' && s[1] == '\\' ? 2 : 1;
    unsigned long c = digits > 0 ? hex(s + 2, digits) : (unsigned char)*s;
    if (digits <= 2) {
        bytes[0] = (unsigned char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c <= 0xFFFF ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; c >>= 6)
        bytes[i] = (unsigned char)(0x80 | (c & 0x3F));
    bytes[0] = (unsigned char)(lead[n] | c);
    return n;
}

static void check_round_trip(const char *out, const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (*out != '\0') {
        unsigned char bytes[4];
        size_t taken, n = unescape(out, bytes, &taken);
        CHECK(n <= size - at && memcmp(data + at, bytes, n) == 0);
        at += n;
        out += taken;
    }
    CHECK(at == size);
}

/* Into a buffer of just that size, so that ASan sees a byte too many. */
static void check_cut(const char *text, size_t size, size_t cap)
{
    char *out = malloc(cap);
    CHECK(out != NULL);
    check_output(out, safe_text(text, size, SAFE_TEXT_FIELD, out, cap), 0);
    free(out);
}

static void check_log_quote(const char *text, size_t size, size_t cap)
{
    char *value = malloc(size + 1), *out = malloc(cap);
    CHECK(value != NULL && out != NULL);
    memcpy(value, text, size);
    value[size] = '\0';
    check_output(out, strlen(log_quote(value, out, cap)), 0);
    free(value);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t cap = SAFE_TEXT_GROWTH * size + 1;
    char *out = malloc(cap);
    CHECK(out != NULL);
    for (int kind = SAFE_TEXT_FIELD; kind <= SAFE_TEXT_BODY; kind++) {
        size_t n = safe_text(text, size, (enum safe_text_kind)kind, out, cap);
        check_output(out, n, kind == SAFE_TEXT_BODY);
        CHECK(safe_text_columns(out) <= n);
        if (kind != SAFE_TEXT_MESSAGE)
            check_round_trip(out, data, size);
        CHECK(kind == SAFE_TEXT_BODY || safe_text_is_plain(out, n));
    }
    free(out);
    size_t cut = size > 0 ? 1 + data[0] % 40u : 1;
    check_cut(text, size, cut);
    check_log_quote(text, size, cut);
    return 0;
}
