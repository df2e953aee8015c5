#include "cli/verb.h"

#include <string.h>

const void *verb_find(const char *name, const void *rows, size_t count, size_t row_bytes)
{
    for (size_t i = 0; i < count; i++) {
        const void *row = (const char *)rows + i * row_bytes;
        if (strcmp(name, *(const char *const *)row) == 0)
            return row;
    }
    return NULL;
}
