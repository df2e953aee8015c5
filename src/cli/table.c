#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

#define COLUMNS_MAX 32

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

ax_err table_row_of(struct table *t, const json_t *o, const char *const *fields)
{
    const char *cells[COLUMNS_MAX] = {NULL};
    char numbers[COLUMNS_MAX][24];
    for (int i = 0; i < t->columns && i < COLUMNS_MAX; i++) {
        const json_t *value = json_object_get(o, fields[i]);
        cells[i] = json_string_value(value);
        if (json_is_integer(value)) {
            snprintf(numbers[i], sizeof(numbers[i]), "%" JSON_INTEGER_FORMAT,
                     json_integer_value(value));
            cells[i] = numbers[i];
        }
    }
    return table_row(t, cells);
}

static size_t widest(const struct table *t, int column)
{
    size_t widest = 0;
    for (int r = 0; r < t->count; r++) {
        size_t w = t->rows[r][column] != NULL ? output_columns(t->rows[r][column]) : 0;
        widest = w > widest ? w : widest;
    }
    return widest;
}

static void free_rows(struct table *t)
{
    for (int r = 0; r < t->count; r++) {
        for (int i = 0; i < t->columns; i++)
            free(t->rows[r][i]);
        free(t->rows[r]);
    }
    free(t->rows);
    *t = (struct table){0};
}

void table_print(struct table *t)
{
    for (int r = 0; r < t->count; r++) {
        for (int i = 0; i < t->columns; i++) {
            const char *cell = t->rows[r][i] != NULL ? t->rows[r][i] : "";
            output_print("%s", cell);
            if (i + 1 < t->columns)
                output_print("%*s", (int)(widest(t, i) - output_columns(cell)) + 2, "");
        }
        output_print("\n");
    }
    free_rows(t);
}
