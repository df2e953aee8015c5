/* Setting a header of a message. */
#ifndef AX_TASK_HEADER_H
#define AX_TASK_HEADER_H

#include <nats/nats.h>

/* natsMsgHeader_Set. Without memory the process ends (base/memory.h): when nats.c 3.4 cannot let
 * its table of headers grow it frees the value and leaves it in the table, and destroying the
 * message frees it again. */
natsStatus header_set(natsMsg *msg, const char *name, const char *value);

#endif
