/* A task by what a person has of it: its key or its id. Blocking. */
#ifndef AX_CLI_STREAMS_FIND_KEY_H
#define AX_CLI_STREAMS_FIND_KEY_H

#include "cli/streams/find.h"

/* text is a key of pool, or an id (of pool, when given): whichever is found. pool NULL: an id of
 * any pool, a key of the default pool, and if that has none of whichever other pool has it. nc:
 * borrowed. As find_task; AX_E_INVALID: several other pools have the key, p names them. */
ax_err find_key_or_id(natsConnection *nc, const char *pool, const char *text, struct found *out,
                      struct problem *p);

#endif
