/* Headers of a message that this process makes. */
#ifndef AX_TASK_HEADER_H
#define AX_TASK_HEADER_H

#include <nats/nats.h>

/* natsMsgHeader_Set. Without memory the process ends (base/memory.h): when nats.c 3.4 cannot let
 * its table of headers grow it frees the value and leaves it in the table, and destroying the
 * message frees it again. */
natsStatus header_set(natsMsg *msg, const char *name, const char *value);

/* Bytes of a header's line, "name: value" and CRLF. */
size_t header_line_bytes(const char *name, const char *value);

#endif
