/* Durations as text: "1h30m". A parser of foreign input: strict, without locale, without overflow.
 * Pure. */
#ifndef AX_BASE_TEXT_DURATION_H
#define AX_BASE_TEXT_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/duration.h"

/* Digits and unit, ms|s|m|h|d, several parts allowed in falling order ("1h30m"); "0s" allowed.
 * False: anything else (no unit, a fraction, a sign, a space), or above max_ms. */
bool duration_parse(const char *s, int64_t max_ms, int64_t *out_ms);

/* The shortest text that duration_parse reads as ms (>= 0): "1m30s", "7d", "250ms"; buf at least 48
 * bytes. Returns buf. */
char *duration_format(int64_t ms, char *buf);

#endif
