/* Inboxes: the subjects on which answers are awaited, this program's own and those of others. */
#ifndef AX_TASK_INBOX_H
#define AX_TASK_INBOX_H

#include <stdbool.h>

#include "base/text/subject.h"

#define INBOX_PREFIX "_INBOX"
#define INBOX_UNIQUE_CHARS 22
/* Bytes of an inbox, NUL included. */
#define INBOX_MAX (SUBJECT_INBOX_PREFIX_MAX + 1 + INBOX_UNIQUE_CHARS + 1)

/* With what the inboxes of this program begin from now on: borrowed for the life of the process.
 * NULL: INBOX_PREFIX. Called once, before the first inbox_new. */
void inbox_use_prefix(const char *prefix);

/* A new inbox that nobody can guess, "<prefix>.<22 random characters>". Returns buf. Any thread. */
const char *inbox_new(char buf[INBOX_MAX]);

/* True: a daemon may answer to `reply`, a subject that somebody else has given. A daemon publishes
 * its answer with its own rights, so a reply subject of a stream, a bucket or the API would make it
 * write there for a sender who may not. An inbox begins with "_INBOX.", or with one of `prefixes`
 * (a list with commas; NULL: none) and a dot, or it is one that a server has put in place of the
 * sender's: "_R_.…" stands for a reply subject in another account, and clients cannot name one;
 * "_GR_.<cluster>.<server>.<reply>" names one in another cluster, which must be an inbox itself.
 * Pure. */
#define INBOX_REPLY_MAX_CHARS 255
bool inbox_is_answerable(const char *reply, const char *prefixes);

#endif
