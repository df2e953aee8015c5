#include "base/text/duration.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text/duration.h"

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool duration_parse(const char *s, int64_t max_ms, int64_t *out_ms)
{
    int64_t total = 0;
    /* parts come in falling order: only the units from here on may follow */
    size_t next_unit = 0;
    if (*s == '\0')
        return false;
    while (*s != '\0') {
        if (!is_digit(*s))
            return false;
        int64_t n = 0;
        for (; is_digit(*s); s++) {
            if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s - '0', &n))
                return false;
        }
        size_t length = strspn(s, "dhms"), unit = next_unit;
        while (unit < UNIT_COUNT &&
               (strlen(units[unit].name) != length || strncmp(s, units[unit].name, length) != 0)) {
            unit++;
        }
        if (unit == UNIT_COUNT || __builtin_mul_overflow(n, units[unit].ms, &n) ||
            __builtin_add_overflow(total, n, &total)) {
            return false;
        }
        s += length;
        next_unit = unit + 1;
    }
    if (total > max_ms)
        return false;
    *out_ms = total;
    return true;
}

char *duration_format(int64_t ms, char *buf)
{
    if (ms <= 0)
        return strcpy(buf, "0s");
    size_t used = 0;
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        int64_t n = ms / units[i].ms;
        ms %= units[i].ms;
        if (n > 0)
            used += (size_t)snprintf(buf + used, 48 - used, "%lld%s", (long long)n, units[i].name);
    }
    return buf;
}
