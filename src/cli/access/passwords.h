/* Passwords of the users, made once and kept in a directory that only its owner can read. */
#ifndef AX_CLI_ACCESS_PASSWORDS_H
#define AX_CLI_ACCESS_PASSWORDS_H

#include "cli/access/rights.h"

#define PASSWORDS_FILE "passwords.conf"

/* Makes the directory (0700), a file <user> (0600) with a password for each user that has none yet,
 * and PASSWORDS_FILE with all of them as variables of nats-server. Passwords that are there stay,
 * so it may run again. Links are not followed. AX_E_INVALID: others can write to the directory or
 * read a file, or a file holds no password. AX_E_IO: p says what failed. */
ax_err passwords_make(const char *directory, const struct user *users, int count,
                      struct problem *p);

#endif
