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

static int width(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

ax_err table_row(struct table *t, const char *const *cells)
{
    char **row = calloc((size_t)t->columns, sizeof(*row));
    char ***rows = realloc(t->rows, (size_t)(t->count + 1) * sizeof(*rows));
    if (rows)
        t->rows = rows;
    if (!row || !rows) {
        free(row);
        return AX_E_NOMEM;
    }
    t->rows[t->count++] = row;
    for (int i = 0; i < t->columns; i++) {
        if (!(row[i] = strdup(cells[i] ? cells[i] : "")))
            return AX_E_NOMEM;
    }
    return AX_OK;
}

void table_print(struct table *t)
{
    for (int r = 0; r < t->count; r++) {
        for (int i = 0; i < t->columns; i++) {
            const char *cell = t->rows[r][i] ? t->rows[r][i] : "";
            int widest = 0;
            for (int k = 0; k < t->count; k++) {
                int w = t->rows[k][i] ? width(t->rows[k][i]) : 0;
                widest = w > widest ? w : widest;
            }
            fputs(cell, stdout);
            if (i + 1 < t->columns)
                printf("%*s", widest - width(cell) + 2, "");
        }
        putchar('\n');
    }
    for (int r = 0; r < t->count; r++) {
        for (int i = 0; i < t->columns; i++)
            free(t->rows[r][i]);
        free(t->rows[r]);
    }
    free(t->rows);
    *t = (struct table){0};
}
