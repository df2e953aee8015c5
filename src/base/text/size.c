#include "base/text/size.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define UNITS 5

static const char *const units[UNITS] = {"B", "KiB", "MiB", "GiB", "TiB"};

bool size_parse(const char *s, int64_t max_bytes, int64_t *out_bytes)
{
    size_t digits = strspn(s, "0123456789");
    int64_t n = 0;
    for (size_t i = 0; i < digits; i++) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, s[i] - '0', &n))
            return false;
    }
    if (digits == 0)
        return false;
    int found = s[digits] == '\0' ? 0 : UNITS;
    for (int i = 0; i < UNITS && found == UNITS; i++) {
        if (strcmp(s + digits, units[i]) == 0)
            found = i;
    }
    int64_t bytes;
    if (found == UNITS || __builtin_mul_overflow(n, (int64_t)1 << (10 * found), &bytes) ||
        bytes > max_bytes)
        return false;
    *out_bytes = bytes;
    return true;
}

char *size_format(int64_t bytes, char *buf)
{
    int unit = 0;
    while (unit < UNITS - 1 && bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(buf, 24, "%" PRId64 "%s", bytes, units[unit]);
    return buf;
}
