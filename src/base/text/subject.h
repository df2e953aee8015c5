/* The shape of subjects that come from outside. Pure functions. */
#ifndef AX_BASE_TEXT_SUBJECT_H
#define AX_BASE_TEXT_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

/* True: the `chars` characters at s are one subject to publish to: tokens that are not empty,
 * separated by dots, without a wildcard, space or control character. */
bool subject_is_plain(const char *s, size_t chars);

/* True: inboxes may begin with the `chars` characters at s and a dot: plain, at most
 * SUBJECT_INBOX_PREFIX_MAX characters, and not a place of the server ($…, _R_…, _GR_…) or of AX
 * (ax.…). */
#define SUBJECT_INBOX_PREFIX_MAX 48
bool subject_is_inbox_prefix(const char *s, size_t chars);

/* Calls each(arg, item, its characters) for the items of a list with commas, until one returns
 * false. An empty list has one empty item. False: one did. */
bool subject_list_each(const char *list, bool (*each)(void *arg, const char *item, size_t chars),
                       void *arg);

#endif
