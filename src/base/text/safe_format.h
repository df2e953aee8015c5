/* printf for people: the format is the program's own text, and each text that it puts in is
 * foreign. */
#ifndef AX_BASE_TEXT_SAFE_FORMAT_H
#define AX_BASE_TEXT_SAFE_FORMAT_H

#include <stdarg.h>

/* Formats as vasprintf does, but each %s as SAFE_TEXT_FIELD (base/text/safe_text.h): a precision
 * counts bytes of the text that was given, a width counts columns of what is shown. Knows s, c, d,
 * i, u, x, f and %, and the lengths l, ll and z; any other conversion ends the process, since it is
 * a mistake in the program. Returns the text, which the caller frees; NULL: out of memory. */
char *safe_format(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

#endif
