/* The directory in which `ax up` keeps the server's streams, its configuration, the token and the
 * address. Whoever can write it decides what the server does. So a store is used only when it
 * belongs to this user or to root, nobody else can write it, and nothing in it is a link
 * (store_check.h). New ones have mode 0700. */
#ifndef AX_CLI_STORE_STORE_H
#define AX_CLI_STORE_STORE_H

#include <stdbool.h>

#include "base/error.h"

/* Files of the store. */
#define STORE_LOCK "ax.lock"
#define STORE_URL "url"     /* where its `ax up` listens, with the token; while it is ready */
#define STORE_TOKEN "token" /* what clients have to know, with --token */

struct store {
    int fd;     /* the directory */
    char *path; /* its real path, owned */
    /* A child that inherits it holds the store, too, and so the store stays taken while a server of
     * ours lives. -1: not taken. */
    int lock_fd;
};

/* Makes the directory where it does not exist, checks it, and takes it for this process. given: its
 * path; NULL: $XDG_DATA_HOME/ax or ~/.local/share/ax. AX_E_INVALID: nothing is given or known.
 * AX_E_EXISTS: another process has it. AX_E_AUTH: others could have changed it. AX_E_IO. p says
 * which file and why. store_close in any case. */
ax_err store_take(const char *given, struct store *s, struct problem *p);

/* Looks into a store that an `ax up` has taken: checks it, without a lock of its own.
 * AX_E_NOT_FOUND: it does not exist, or no `ax up` runs on it. Otherwise as store_take. */
ax_err store_look(const char *given, struct store *s, struct problem *p);

void store_close(struct store *s);

#endif
