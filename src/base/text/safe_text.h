/* Foreign text that people read: what could steer a terminal, turn the line around or hide a part
 * of it is shown as an escape, and all else as it is. Pure functions, but for safe_text_columns.
 *
 * Escaped are
 *   \x1b       control characters U+0000 to U+001F and U+007F, and bytes that are not UTF-8;
 *   \u202e     control characters U+0080 to U+009F, line and paragraph separators, controls of
 *              the direction of writing, and characters that nobody sees (Unicode's property
 *              Default_Ignorable_Code_Point, DerivedCoreProperties.txt of Unicode 15);
 *   \U000e0041 the same above U+FFFF;
 *   \\         a backslash that could be taken for the beginning of an escape.
 * Not escaped are variation selectors U+FE00 to U+FE0F, and the joiners U+200C and U+200D
 * before a character that is shown and not ASCII: emoji and several scripts need them. */
#ifndef AX_BASE_TEXT_SAFE_TEXT_H
#define AX_BASE_TEXT_SAFE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum safe_text_kind {
    SAFE_TEXT_FIELD,   /* one value: nothing of it starts a new line; unescaping gives it back */
    SAFE_TEXT_MESSAGE, /* a line that may hold escapes already: its backslashes stay as they are */
    SAFE_TEXT_BODY,    /* of several lines: newline and tab stay as they are */
};

/* Bytes of the longest escape with its NUL. */
#define SAFE_TEXT_UNIT_MAX 11
/* The safe form is at most so many times as long. */
#define SAFE_TEXT_GROWTH 4

/* The safe form of the first character of the bytes at s (at least 1), with NUL, in unit. Returns
 * how many bytes of s it stands for; at least 1. */
size_t safe_text_unit(const char *s, size_t bytes, enum safe_text_kind kind,
                      char unit[SAFE_TEXT_UNIT_MAX]);

/* The safe form of the bytes at s, with NUL, in out (cap bytes, at least 1), cut between two
 * characters when it is longer. Returns its length. */
size_t safe_text(const char *s, size_t bytes, enum safe_text_kind kind, char *out, size_t cap);

/* False: some character at s is shown as an escape of kind SAFE_TEXT_MESSAGE. Newline and tab
 * count, too. */
bool safe_text_is_plain(const char *s, size_t bytes);

/* Columns that text takes on a terminal, for text that is safe already. Uses wcwidth: the locale
 * must be one of UTF-8 for characters that take two columns, or none. */
size_t safe_text_columns(const char *text);

#endif
