/* Tables that commands print. */
#ifndef AX_CLI_TABLE_H
#define AX_CLI_TABLE_H

#include <jansson.h>

#include "base/error.h"

/* Rows of text in columns as wide as their widest cell. Zero-initialise, set columns (at most
 * TABLE_COLUMNS_MAX). */
#define TABLE_COLUMNS_MAX 32
struct table {
    int columns;
    int count, room;
    char ***rows; /* owned */
};
/* Copies the cells, as many as there are columns (NULL: ""). AX_E_NOMEM. */
ax_err table_row(struct table *t, const char *const *cells);
/* The same with these fields of the object o, as many as there are columns; a field that is no text
 * and no number is left empty. AX_E_NOMEM. */
ax_err table_row_of(struct table *t, const json_t *o, const char *const *fields);
/* Prints all rows and frees them. */
void table_print(struct table *t);
/* Frees the rows; safe twice. */
void table_free(struct table *t);

#endif
