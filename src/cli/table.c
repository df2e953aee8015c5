#include "cli/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

static bool make_room(struct table *t)
{
    if (t->count < t->room)
        return true;
    int room = t->room > 0 ? 2 * t->room : 16;
    char ***rows = realloc(t->rows, (size_t)room * sizeof(*rows));
    if (rows == NULL)
        return false;
    t->rows = rows;
    t->room = room;
    return true;
}

ax_err table_row(struct table *t, const char *const *cells)
{
    char **row = calloc((size_t)t->columns, sizeof(*row));
    if (row == NULL || !make_room(t)) {
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
    const char *cells[TABLE_COLUMNS_MAX] = {NULL};
    char numbers[TABLE_COLUMNS_MAX][24];
    for (int i = 0; i < t->columns && i < TABLE_COLUMNS_MAX; i++) {
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

/* Of all columns once, before the first row is printed: tables may have a million rows. */
static void measure(const struct table *t, size_t widest[TABLE_COLUMNS_MAX])
{
    for (int r = 0; r < t->count; r++) {
        for (int i = 0; i < t->columns; i++) {
            size_t w = t->rows[r][i] != NULL ? output_columns(t->rows[r][i]) : 0;
            widest[i] = w > widest[i] ? w : widest[i];
        }
    }
}

void table_free(struct table *t)
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
    size_t widest[TABLE_COLUMNS_MAX] = {0};
    measure(t, widest);
    for (int r = 0; r < t->count; r++) {
        for (int i = 0; i < t->columns; i++) {
            const char *cell = t->rows[r][i] != NULL ? t->rows[r][i] : "";
            output_print("%s", cell);
            if (i + 1 < t->columns)
                output_print("%*s", (int)(widest[i] - output_columns(cell)) + 2, "");
        }
        output_print("\n");
    }
    table_free(t);
}
