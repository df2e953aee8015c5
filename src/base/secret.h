/* Passwords and tokens: kept out of the command line that `ps` shows, and read from files. */
#ifndef AX_BASE_SECRET_H
#define AX_BASE_SECRET_H

#include <stddef.h>

#include "base/error.h"

/* A copy of text for as long as the process lives. NULL: no memory. One thread, at the start. */
const char *secret_keep(const char *text);

/* The same, and overwrites text with 'x': a value within argv. */
const char *secret_take(char *text);
/* The same for URLs: overwrites their user names, passwords and tokens only. */
const char *secret_take_urls(char *text);

/* The path of a credential of that name that systemd handed to this process (LoadCredential=);
 * NULL: none, or no memory. As secret_keep. */
const char *secret_credential(const char *name);

/* Reads the secret in a file into buf: all of it but one line break at the end, 1 to
 * SECRET_MAX_BYTES bytes without another line break or NUL. A file that everybody can write is
 * refused, since whoever changes it chooses who this program is; one that everybody can read is
 * taken, and logged. AX_E_INVALID, AX_E_IO: p names file and reason. */
#define SECRET_MAX_BYTES 4095
ax_err secret_read(const char *path, char buf[SECRET_MAX_BYTES + 1], struct problem *p);

#endif
