/* Whether others could have put something into a store, or could do so. AX_E_AUTH: they could, and
 * p names the file and says what to do. AX_E_IO: it cannot be read. */
#ifndef AX_CLI_STORE_STORE_CHECK_H
#define AX_CLI_STORE_STORE_CHECK_H

#include "base/error.h"

/* The path of a store, as it was given: where it is a link, the link has to belong to this user or
 * to root. A path that does not exist is right. */
ax_err store_check_link(const char *path, struct problem *p);

/* The directories above the store, by its real path. They belong to this user, to root, or to a
 * user whom this user namespace does not know. Not everybody may write them, unless the sticky bit
 * keeps others from renaming what is in them, as in /tmp. */
ax_err store_check_parents(const char *real_path, struct problem *p);

/* The directory fd itself, and what is in it, however deep: all of it belongs to this user or to
 * root, no directory can be written by others, and nothing is a link, a device, a pipe or a socket.
 * path: for the texts. */
ax_err store_check_content(int fd, const char *path, struct problem *p);

#endif
