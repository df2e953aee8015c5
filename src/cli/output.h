/* What commands print: one JSON value a line, tables, times. */
#ifndef AX_CLI_OUTPUT_H
#define AX_CLI_OUTPUT_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

/* Prints value on one line and releases it. NULL: says that memory ran out. */
void output_json(json_t *value);
/* A JSON string of any bytes (what is not UTF-8 becomes '?'). */
json_t *output_text(const char *text);
/* RFC 3339, or null for 0. */
json_t *output_time(int64_t ns);
/* "350ms", "12s", "3m07s", "5h02m", "3d04h". Returns buf. */
char *output_seconds(int64_t ns, char buf[32]);

/* The same for seconds. */
char *output_span(double seconds, char buf[32]);

/* Rows of text in columns as wide as their widest cell. Zero-initialise, set columns. */
struct table {
    int columns;
    int count;
    char ***rows;
};
/* Copies the cells (NULL = ""). */
ax_err table_row(struct table *t, const char *const *cells);
/* Prints all rows and frees them. */
void table_print(struct table *t);

#endif
