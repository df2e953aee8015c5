/* `ax submit` of one task. */
#ifndef AX_CLI_SUBMIT_SUBMIT_ONE_H
#define AX_CLI_SUBMIT_SUBMIT_ONE_H

#include <nats/nats.h>

#include "cli/submit/submit.h"

/* Submits one task, waits for its end with --wait, and prints what became of it. Blocks. nc, body:
 * borrowed. Returns the exit code. */
int submit_one(natsConnection *nc, const struct submit_flags *f, const char *body, size_t bytes);

#endif
