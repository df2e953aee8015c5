/* How far `ax submit --lines` is: one line on a terminal, written again and again on stderr. Where
 * stderr is no terminal nothing is written. */
#ifndef AX_CLI_SUBMIT_PROGRESS_H
#define AX_CLI_SUBMIT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_shown;
    int64_t next_ms; /* when to write it again */
};

/* Zero-initialises; the first line comes a second later. */
void progress_begin(struct progress *p);
/* True a few times a second: it is time for progress_show. */
bool progress_is_due(const struct progress *p);
/* text: one line. */
void progress_show(struct progress *p, const char *text);
/* Removes the line, before something else is written. */
void progress_clear(struct progress *p);

#endif
