/* Times and durations as text (base/clock.h). Parsers of foreign input: strict, without locale,
 * without overflow. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define NS_PER_S 1000000000LL

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Exactly `digits` digits at *s, moves *s past them. */
static bool take_number(const char **s, int digits, int *out)
{
    int n = 0;
    for (int i = 0; i < digits; i++) {
        if (!is_digit((*s)[i])) {
            return false;
        }
        n = n * 10 + ((*s)[i] - '0');
    }
    *s += digits;
    *out = n;
    return true;
}

static bool take_char(const char **s, char c)
{
    if (**s != c) {
        return false;
    }
    ++*s;
    return true;
}

static int month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

static bool take_fraction(const char **s, int64_t *out_ns)
{
    if (!is_digit(**s)) {
        return false;
    }
    int64_t ns = 0;
    int digits = 0;
    for (; is_digit(**s); ++*s) {
        if (digits < 9) {
            ns = ns * 10 + (**s - '0');
            digits++;
        }
    }
    for (; digits < 9; digits++) {
        ns *= 10;
    }
    *out_ns = ns;
    return true;
}

static bool take_offset(const char **s, int64_t *out_s)
{
    if (take_char(s, 'Z') || take_char(s, 'z')) {
        *out_s = 0;
        return true;
    }
    int sign = **s == '+' ? 1 : **s == '-' ? -1 : 0, hours, minutes;
    if (sign == 0) {
        return false;
    }
    ++*s;
    if (!take_number(s, 2, &hours) || !take_char(s, ':') || !take_number(s, 2, &minutes) ||
        hours > 23 || minutes > 59) {
        return false;
    }
    *out_s = sign * (hours * 3600LL + minutes * 60LL);
    return true;
}

char *clock_format_rfc3339(int64_t ns, char *buf)
{
    int64_t fraction = ns % NS_PER_S;
    time_t seconds = ns / NS_PER_S;
    if (fraction < 0) {
        fraction += NS_PER_S;
        seconds--;
    }
    struct tm t;
    gmtime_r(&seconds, &t);
    /* the remainders tell the compiler that nothing can be cut */
    snprintf(buf, 32, "%04u-%02u-%02uT%02u:%02u:%02u.%09uZ", (unsigned)(t.tm_year + 1900) % 10000,
             (unsigned)(t.tm_mon + 1) % 100, (unsigned)t.tm_mday % 100, (unsigned)t.tm_hour % 100,
             (unsigned)t.tm_min % 100, (unsigned)t.tm_sec % 100, (unsigned)fraction % 1000000000u);
    return buf;
}

bool clock_parse_rfc3339(const char *s, int64_t *out_ns)
{
    int year, month, day, hour, minute, second;
    if (!take_number(&s, 4, &year) || !take_char(&s, '-') || !take_number(&s, 2, &month) ||
        !take_char(&s, '-') || !take_number(&s, 2, &day) ||
        !(take_char(&s, 'T') || take_char(&s, 't')) || !take_number(&s, 2, &hour) ||
        !take_char(&s, ':') || !take_number(&s, 2, &minute) || !take_char(&s, ':') ||
        !take_number(&s, 2, &second)) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > month_days(year, month) || hour > 23 ||
        minute > 59 || second > 59) {
        return false;
    }
    int64_t fraction = 0, offset;
    if ((take_char(&s, '.') && !take_fraction(&s, &fraction)) || !take_offset(&s, &offset) ||
        *s != '\0') {
        return false;
    }
    struct tm t = {.tm_year = year - 1900,
                   .tm_mon = month - 1,
                   .tm_mday = day,
                   .tm_hour = hour,
                   .tm_min = minute,
                   .tm_sec = second};
    __int128 ns = ((__int128)timegm(&t) - offset) * NS_PER_S + fraction;
    if (ns > INT64_MAX || ns < INT64_MIN) {
        return false;
    }
    *out_ns = (int64_t)ns;
    return true;
}

bool clock_parse_duration(const char *s, int64_t max_ms, int64_t *out_ms)
{
    int64_t total = 0;
    /* parts come in falling order: only the units from here on may follow */
    size_t next_unit = 0;
    if (*s == '\0') {
        return false;
    }
    while (*s != '\0') {
        if (!is_digit(*s)) {
            return false;
        }
        int64_t n = 0;
        for (; is_digit(*s); s++) {
            if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s - '0', &n)) {
                return false;
            }
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
    if (total > max_ms) {
        return false;
    }
    *out_ms = total;
    return true;
}

char *clock_format_duration(int64_t ms, char *buf)
{
    if (ms <= 0) {
        return strcpy(buf, "0s");
    }
    size_t used = 0;
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        int64_t n = ms / units[i].ms;
        ms %= units[i].ms;
        if (n > 0) {
            used += (size_t)snprintf(buf + used, 48 - used, "%lld%s", (long long)n, units[i].name);
        }
    }
    return buf;
}
