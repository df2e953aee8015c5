/* The environment that a child process is started with. */
#ifndef AX_CLI_ENVIRONMENT_H
#define AX_CLI_ENVIRONMENT_H

#include <stddef.h>

struct environment_variable {
    const char *name;
    const char *value; /* NULL: the child does not have this variable */
};

/* A copy of this process's environment in which the variables have these values, for execve. One
 * block: the caller frees it with one free(). The variables' texts are copied; the other entries
 * are borrowed from environ, which must not change meanwhile. NULL: out of memory (errno). */
char **environment_with(const struct environment_variable *variables, size_t count);

/* The same for a command that is none of ax's own programs: without what options_is_private names
 * (base/options.h), such as the server's URL and passwords. */
char **environment_of_command(const struct environment_variable *variables, size_t count);

#endif
