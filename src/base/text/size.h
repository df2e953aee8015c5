/* Sizes as text: "256MiB". A parser of foreign input: strict, without locale, without overflow.
 * Pure. */
#ifndef AX_BASE_TEXT_SIZE_H
#define AX_BASE_TEXT_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* Digits and unit, B|KiB|MiB|GiB|TiB, or digits alone for bytes. False: anything else (a fraction,
 * a sign, a space), or above max_bytes. */
bool size_parse(const char *s, int64_t max_bytes, int64_t *out_bytes);

/* The shortest text that size_parse reads as bytes (>= 0): "256MiB", "1000B"; buf at least 24
 * bytes. Returns buf. */
char *size_format(int64_t bytes, char *buf);

#endif
