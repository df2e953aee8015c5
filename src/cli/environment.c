#include "cli/environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"

extern char **environ;

static bool is_one_of(const char *entry, const struct environment_variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(variables[i].name);
        if (strncmp(entry, variables[i].name, n) == 0 && entry[n] == '=')
            return true;
    }
    return false;
}

static size_t text_bytes(const struct environment_variable *variables, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (variables[i].value != NULL)
            bytes += strlen(variables[i].name) + strlen(variables[i].value) + sizeof("=");
    }
    return bytes;
}

static char **make(const struct environment_variable *variables, size_t count, bool with_private)
{
    size_t entries = 0, k = 0;
    while (environ[entries] != NULL)
        entries++;
    char **block = malloc((entries + count + 1) * sizeof(*block) + text_bytes(variables, count));
    if (block == NULL)
        return NULL;
    for (size_t i = 0; i < entries; i++) {
        if (!is_one_of(environ[i], variables, count) &&
            (with_private || !options_is_private(environ[i])))
            block[k++] = environ[i];
    }
    char *text = (char *)(block + entries + count + 1);
    for (size_t i = 0; i < count; i++) {
        if (variables[i].value == NULL)
            continue;
        block[k++] = text;
        text += sprintf(text, "%s=%s", variables[i].name, variables[i].value) + 1;
    }
    block[k] = NULL;
    return block;
}

char **environment_with(const struct environment_variable *variables, size_t count)
{
    return make(variables, count, true);
}

char **environment_of_command(const struct environment_variable *variables, size_t count)
{
    return make(variables, count, false);
}
