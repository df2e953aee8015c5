#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text/rfc3339.h"
#include "base/text/safe_format.h"
#include "base/text/safe_text.h"
#include "base/text/utf8.h"
#include "cli/cli.h"

static int write_errno; /* of the first write to stdout that failed */

/* After each: stdio keeps that a write failed, but not why. */
static void note_error(void)
{
    if (write_errno == 0 && ferror(stdout))
        write_errno = errno != 0 ? errno : EIO;
}

int output_end(int code)
{
    errno = 0;
    fflush(stdout);
    note_error();
    /* Who closed a pipe has read enough. */
    if (write_errno == 0 || write_errno == EPIPE)
        return code;
    say(CLI_FAILED, "stdout: %s", strerror(write_errno));
    return code == CLI_OK ? CLI_FAILED : code;
}

/* Whoever reads a pipe or a file reads bytes, and gets them as they are. */
static bool is_for_people(void)
{
    static int known = -1;
    if (known < 0)
        known = isatty(STDOUT_FILENO);
    return known == 1;
}

void output_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (is_for_people()) {
        char *text = safe_format(format, args);
        fputs(text != NULL ? text : "(out of memory)\n", stdout);
        free(text);
    } else {
        vprintf(format, args);
    }
    va_end(args);
    note_error();
}

void output_own(const char *text)
{
    printf("\n%s\n", text);
    note_error();
}

/* Continuation bytes of UTF-8 do not count. */
static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

size_t output_columns(const char *text)
{
    size_t columns = 0, bytes = strlen(text);
    if (!is_for_people())
        return characters(text);
    for (size_t at = 0; at < bytes;) {
        char unit[SAFE_TEXT_UNIT_MAX];
        at += safe_text_unit(text + at, bytes - at, SAFE_TEXT_FIELD, unit);
        columns += safe_text_columns(unit);
    }
    return columns;
}

/* The escape of a character as JSON has it: unit is "\\x7f", "\\u202e" or "\\U000e0041". */
static void put_json_escape(const char *unit)
{
    unsigned long c = strtoul(unit + 2, NULL, 16);
    if (c > 0xFFFF)
        printf("\\u%04lx\\u%04lx", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
    else
        printf("\\u%04lx", c);
}

/* text: JSON in UTF-8, so that there is nothing else to escape. */
static void put_safe_json(const char *text)
{
    size_t bytes = strlen(text), n;
    for (size_t at = 0; at < bytes; at += n) {
        char unit[SAFE_TEXT_UNIT_MAX];
        n = safe_text_unit(text + at, bytes - at, SAFE_TEXT_MESSAGE, unit);
        if (strlen(unit) == n)
            fputs(unit, stdout);
        else
            put_json_escape(unit);
    }
}

static bool has_json;

bool output_has_json(void)
{
    return has_json;
}

void output_json(json_t *value)
{
    has_json = true;
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    if (text == NULL)
        fprintf(stderr, "ax: out of memory\n");
    else if (is_for_people())
        put_safe_json(text);
    else
        fputs(text, stdout);
    putchar('\n');
    note_error();
    free(text);
    json_decref(value);
}

json_t *output_text(const char *text)
{
    /* Keys and bodies are any bytes; JSON is UTF-8: what is not becomes '?', byte by byte. */
    json_t *value = json_string(text);
    if (value)
        return value;
    char *copy = strdup(text);
    if (!copy)
        return NULL;
    for (size_t at = 0, bytes = strlen(copy); at < bytes;) {
        size_t n = utf8_length(copy + at, bytes - at);
        if (n == 0)
            copy[at] = '?';
        at += n > 0 ? n : 1;
    }
    value = json_string(copy);
    free(copy);
    return value;
}

json_t *output_time(int64_t ns)
{
    char buf[32];
    return ns ? json_string(rfc3339_format(ns, buf)) : json_null();
}

char *output_when(const char *text, char buf[48])
{
    int64_t ns;
    const char *point = strchr(text, '.');
    size_t digits = point != NULL ? strspn(point + 1, "0123456789") : 0;
    if (digits > 3 && rfc3339_parse(text, &ns))
        snprintf(buf, 48, "%.*s%s", (int)(point + 4 - text), text, point + 1 + digits);
    else
        snprintf(buf, 48, "%s", text);
    return buf;
}

char *output_seconds(int64_t ns, char buf[32])
{
    int64_t s = ns / 1000000000;
    if (ns < 0)
        snprintf(buf, 32, "0s");
    else if (s < 1)
        snprintf(buf, 32, "%" PRId64 "ms", ns / 1000000);
    else if (s < 120)
        snprintf(buf, 32, "%" PRId64 "s", s);
    else if (s < 7200)
        snprintf(buf, 32, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 48 * 3600)
        snprintf(buf, 32, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(buf, 32, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
    return buf;
}

char *output_span(double seconds, char buf[32])
{
    return output_seconds((int64_t)(seconds * 1e9), buf);
}

/* A key or a reason may look like a time. */
static bool is_time_field(const char *field)
{
    return strcmp(field, "submitted") == 0 || strcmp(field, "died") == 0 ||
           strncmp(field, "last_", 5) == 0 || strncmp(field, "next", 4) == 0;
}

static void print_text(const char *field, const char *value)
{
    char when[48];
    bool is_time = strlen(value) < sizeof(when) && is_time_field(field);
    output_print("%-10s %s\n", field, is_time ? output_when(value, when) : value);
}

void output_fields(const json_t *o, const char *const *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(o, fields[i]);
        if (json_is_integer(value))
            output_print("%-10s %" JSON_INTEGER_FORMAT "\n", fields[i], json_integer_value(value));
        else if (json_is_string(value))
            print_text(fields[i], json_string_value(value));
        else if (json_is_boolean(value))
            output_print("%-10s %s\n", fields[i], json_is_true(value) ? "yes" : "no");
    }
}

static void put_safe_body(const char *body, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        char unit[SAFE_TEXT_UNIT_MAX];
        at += safe_text_unit(body + at, bytes - at, SAFE_TEXT_BODY, unit);
        fputs(unit, stdout);
    }
}

void output_body(natsMsg *msg)
{
    const char *body = natsMsg_GetData(msg);
    size_t bytes = (size_t)natsMsg_GetDataLength(msg);
    putchar('\n');
    if (is_for_people())
        put_safe_body(body, bytes);
    else
        fwrite(body, 1, bytes, stdout);
    putchar('\n');
    note_error();
}
