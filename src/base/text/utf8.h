/* UTF-8 in foreign text. */
#ifndef AX_BASE_TEXT_UTF8_H
#define AX_BASE_TEXT_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed character at s, 1 … 4 and at most n; 0: there is none (RFC 3629: not an
 * overlong form, not a surrogate, not above U+10FFFF). */
size_t utf8_length(const char *s, size_t n);

#endif
