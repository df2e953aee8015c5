#include "base/text/safe_text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/text/utf8.h"

/* Sorted. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x80, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},   {0x115F, 0x1160},
    {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E}, {0x2060, 0x206F},
    {0x2800, 0x2800},   {0x3164, 0x3164},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

/* s: a well-formed character of n bytes. */
static uint32_t decode(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    static const unsigned char lead[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = u[0] & lead[n];
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (u[i] & 0x3F);
    return c;
}

static bool is_hidden(uint32_t c)
{
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && hidden[i].first <= c; i++) {
        if (c <= hidden[i].last)
            return true;
    }
    return false;
}

static bool is_joiner(uint32_t c)
{
    return c == 0x200C || c == 0x200D;
}

/* A joiner means something only in front of a character that is shown. */
static bool has_meaning_before(const char *s, size_t bytes)
{
    size_t n = utf8_length(s, bytes);
    if (n <= 1)
        return false;
    uint32_t c = decode(s, n);
    return !is_joiner(c) && !is_hidden(c);
}

/* Of the character at s, of n bytes (0: not UTF-8), out of `bytes` in all. */
static bool is_escaped(const char *s, size_t n, size_t bytes)
{
    if (n <= 1)
        return n == 0 || (unsigned char)*s < ' ' || *s == 0x7F;
    uint32_t c = decode(s, n);
    return is_joiner(c) ? !has_meaning_before(s + n, bytes - n) : is_hidden(c);
}

/* What follows a backslash could be read together with it. */
static bool is_ambiguous(const char *s, size_t bytes)
{
    if (bytes == 0)
        return false;
    return strchr("\\xuU", *s) != NULL || is_escaped(s, utf8_length(s, bytes), bytes);
}

static void escape(const char *s, size_t n, char unit[SAFE_TEXT_UNIT_MAX])
{
    uint32_t c = n > 1 ? decode(s, n) : (unsigned char)*s;
    if (n <= 1)
        snprintf(unit, SAFE_TEXT_UNIT_MAX, "\\x%02" PRIx32, c);
    else if (c <= 0xFFFF)
        snprintf(unit, SAFE_TEXT_UNIT_MAX, "\\u%04" PRIx32, c);
    else
        snprintf(unit, SAFE_TEXT_UNIT_MAX, "\\U%08" PRIx32, c);
}

size_t safe_text_unit(const char *s, size_t bytes, enum safe_text_kind kind,
                      char unit[SAFE_TEXT_UNIT_MAX])
{
    size_t n = utf8_length(s, bytes);
    bool is_kept = kind == SAFE_TEXT_BODY && (*s == '\n' || *s == '\t');
    if (!is_kept && is_escaped(s, n, bytes)) {
        escape(s, n, unit);
    } else if (*s == '\\' && kind != SAFE_TEXT_MESSAGE && is_ambiguous(s + 1, bytes - 1)) {
        strcpy(unit, "\\\\");
    } else {
        memcpy(unit, s, n);
        unit[n] = '\0';
    }
    return n > 0 ? n : 1;
}

size_t safe_text(const char *s, size_t bytes, enum safe_text_kind kind, char *out, size_t cap)
{
    size_t used = 0;
    for (size_t at = 0; at < bytes;) {
        char unit[SAFE_TEXT_UNIT_MAX];
        at += safe_text_unit(s + at, bytes - at, kind, unit);
        size_t n = strlen(unit);
        if (n >= cap - used)
            break;
        memcpy(out + used, unit, n);
        used += n;
    }
    out[used] = '\0';
    return used;
}

bool safe_text_is_plain(const char *s, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t n = utf8_length(s + at, bytes - at);
        if (is_escaped(s + at, n, bytes - at))
            return false;
        at += n;
    }
    return true;
}

size_t safe_text_columns(const char *text)
{
    size_t columns = 0, bytes = strlen(text);
    for (size_t at = 0; at < bytes;) {
        size_t n = utf8_length(text + at, bytes - at);
        int width = n > 1 ? wcwidth((wchar_t)decode(text + at, n)) : 1;
        columns += width >= 0 ? (size_t)width : 1;
        at += n > 0 ? n : 1;
    }
    return columns;
}
