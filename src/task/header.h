/* Headers of messages. */
#ifndef AX_TASK_HEADER_H
#define AX_TASK_HEADER_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stddef.h>

/* natsMsgHeader_Set; ends the process without memory (base/memory.h). When nats.c 3.4 cannot let
 * its table of headers grow, it frees the value and leaves it in the table, and destroying the
 * message frees it again. */
natsStatus header_set(natsMsg *msg, const char *name, const char *value);

/* Ax-* and Nats-*, in any case of letters: names that are not free for producers. */
bool header_is_ax(const char *name);
bool header_is_nats(const char *name);
/* Bytes of a header's line, "name: value" and CRLF. */
size_t header_line_bytes(const char *name, const char *value);

#endif
