#include "base/text/rfc3339.h"

#include <stdio.h>
#include <time.h>

#include "base/text/rfc3339.h"

#define NS_PER_S 1000000000LL

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Exactly `digits` digits at *s, moves *s past them. */
static bool take_number(const char **s, int digits, int *out)
{
    int n = 0;
    for (int i = 0; i < digits; i++) {
        if (!is_digit((*s)[i]))
            return false;
        n = n * 10 + ((*s)[i] - '0');
    }
    *s += digits;
    *out = n;
    return true;
}

static bool take_char(const char **s, char c)
{
    if (**s != c)
        return false;
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
    if (!is_digit(**s))
        return false;
    int64_t ns = 0;
    int digits = 0;
    for (; is_digit(**s); ++*s) {
        if (digits < 9) {
            ns = ns * 10 + (**s - '0');
            digits++;
        }
    }
    for (; digits < 9; digits++)
        ns *= 10;
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
    if (sign == 0)
        return false;
    ++*s;
    if (!take_number(s, 2, &hours) || !take_char(s, ':') || !take_number(s, 2, &minutes) ||
        hours > 23 || minutes > 59) {
        return false;
    }
    *out_s = sign * (hours * 3600LL + minutes * 60LL);
    return true;
}

char *rfc3339_format(int64_t ns, char *buf)
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

bool rfc3339_parse(const char *s, int64_t *out_ns)
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
    if (ns > INT64_MAX || ns < INT64_MIN)
        return false;
    *out_ns = (int64_t)ns;
    return true;
}
