#include "cli/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/rfc3339.h"

void output_json(json_t *value)
{
    if (!value || json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        fprintf(stderr, "ax: out of memory\n");
    putchar('\n');
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
    for (char *c = copy; *c; c++) {
        if ((unsigned char)*c >= 0x80)
            *c = '?';
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

void output_fields(const json_t *o, const char *const *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(o, fields[i]);
        if (json_is_integer(value))
            printf("%-10s %" JSON_INTEGER_FORMAT "\n", fields[i], json_integer_value(value));
        else if (json_is_string(value))
            printf("%-10s %s\n", fields[i], json_string_value(value));
        else if (json_is_boolean(value))
            printf("%-10s %s\n", fields[i], json_is_true(value) ? "yes" : "no");
    }
}

void output_body(natsMsg *msg)
{
    printf("\n");
    fwrite(natsMsg_GetData(msg), 1, (size_t)natsMsg_GetDataLength(msg), stdout);
    printf("\n");
}
