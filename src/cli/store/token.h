/* The token with which `ax up --token` closes its server. */
#ifndef AX_CLI_STORE_TOKEN_H
#define AX_CLI_STORE_TOKEN_H

#include "cli/store/store.h"

#define TOKEN_MIN_CHARS 16
#define TOKEN_MAX_CHARS 128

/* The store's token; made of random characters where there is none. It has TOKEN_MIN_CHARS to
 * TOKEN_MAX_CHARS of 0-9 A-Z a-z _ -, so it needs no escapes in URLs and in configuration files.
 * AX_E_INVALID: the one that is there has another form. AX_E_AUTH: others can read it, or it is not
 * a file of this user or root. p names the file. */
ax_err token_take(const struct store *s, char token[TOKEN_MAX_CHARS + 1], struct problem *p);

#endif
