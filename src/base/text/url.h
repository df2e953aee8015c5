/* URLs without what must not be read by others. Pure functions. */
#ifndef AX_BASE_TEXT_URL_H
#define AX_BASE_TEXT_URL_H

#include <stddef.h>

/* Copies text, one or more URLs or a line with URLs in it, into buf (cap bytes, cut if needed),
 * with three stars in place of each user name, password or token. Everything between "://" (or the
 * beginning) and the last '@' before the next URL is taken for secret, since a password may hold
 * any character. Returns buf. */
const char *url_redact(const char *text, char *buf, size_t cap);

/* The same in place, of the same length: each secret character becomes an 'x'. */
void url_blank(char *text);

#endif
