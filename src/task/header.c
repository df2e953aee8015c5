#include "task/header.h"

#include "base/memory.h"

natsStatus header_set(natsMsg *msg, const char *name, const char *value)
{
    natsStatus s = natsMsgHeader_Set(msg, name, value);
    if (s == NATS_NO_MEMORY)
        memory_fatal("the headers of a message");
    return s;
}
