/* `ax submit --lines`: many submissions at a time. */
#ifndef AX_CLI_SUBMIT_SUBMIT_LINES_H
#define AX_CLI_SUBMIT_SUBMIT_LINES_H

#include <nats/nats.h>

#include "cli/submit/submit.h"

/* Submits a task for each line of stdin ("body" or "key<TAB>body"), at most f->inflight at a time,
 * waits busy answers out, and prints one line of sums. Blocks. nc: borrowed. Returns the exit
 * code. */
int submit_lines(natsConnection *nc, const struct submit_flags *f);

#endif
