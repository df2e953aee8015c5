/* Dead letters: messages of AX_DEAD, each a task that has died and why. Blocking. nc: borrowed. */
#ifndef AX_CLI_DEAD_DEAD_LETTER_H
#define AX_CLI_DEAD_DEAD_LETTER_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/streams/stored.h"

/* What is done with each dead letter (borrowed). Returns CLI_OK to go on, DEAD_LETTER_STOP, or an
 * exit code to end with. */
#define DEAD_LETTER_STOP (-1)
typedef int (*dead_letter_visit)(natsConnection *nc, const struct stored *letter, void *arg);

/* Visits the dead letters of pool (NULL: of all), oldest first; those that are added meanwhile are
 * not visited. Returns CLI_OK, or what a visit ended it with, or CLI_FAILED after saying what is
 * wrong. */
int dead_letter_each(natsConnection *nc, const char *pool, dead_letter_visit visit, void *arg);
/* text: an id in any pool (in pool, when given), or a key of pool (NULL: of the default pool, or of
 * the one other pool that has it). *out: cleared by stored_clear. AX_E_NOT_FOUND, AX_E_INVALID
 * (several other pools), or the errors of stored_last: p says why. */
ax_err dead_letter_find(natsConnection *nc, const char *pool, const char *text, struct stored *out,
                        struct problem *p);
/* Deletes it; one that is deleted already is no error. */
ax_err dead_letter_delete(natsConnection *nc, const struct stored *letter, struct problem *p);
/* A new reference; NULL: its subject names no task. with_body: with headers and body as well. */
json_t *dead_letter_json(const struct stored *letter, bool with_body);

#endif
