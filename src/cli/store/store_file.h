/* The small files that `ax up` keeps in its store. Each is opened by its name in the directory, and
 * never through a link: a link, a hard link, or a file of another user is refused, and what it
 * leads to stays as it is. Errors: AX_E_AUTH for these, AX_E_IO otherwise; p names the file. */
#ifndef AX_CLI_STORE_STORE_FILE_H
#define AX_CLI_STORE_STORE_FILE_H

#include <stddef.h>

#include "cli/store/store.h"

/* Opens a file to read and to write, made with mode 0600 where there is none. Its mode becomes
 * 0600. *fd: the caller closes it. */
ax_err store_file_open(const struct store *s, const char *name, int *fd, struct problem *p);

/* The file holds text from now on, and nothing else. */
ax_err store_file_write(const struct store *s, const char *name, const char *text,
                        struct problem *p);

/* Makes a file that does not exist, whole or not at all: a secret is never half there. */
ax_err store_file_create(const struct store *s, const char *name, const char *text,
                         struct problem *p);

/* Reads a secret, one line, without its line break. AX_E_NOT_FOUND: there is none. AX_E_AUTH as
 * well when others can read or write the file. AX_E_TOO_LONG: it has cap bytes or more. */
ax_err store_file_read_secret(const struct store *s, const char *name, char *buf, size_t cap,
                              struct problem *p);

void store_file_remove(const struct store *s, const char *name);

#endif
