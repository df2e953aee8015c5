#include "task/header.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"

natsStatus header_set(natsMsg *msg, const char *name, const char *value)
{
    natsStatus s = natsMsgHeader_Set(msg, name, value);
    if (s == NATS_NO_MEMORY)
        memory_fatal("the headers of a message");
    return s;
}

size_t header_line_bytes(const char *name, const char *value)
{
    return strlen(name) + strlen(value) + 4;
}

bool header_is_ax(const char *name)
{
    return strncasecmp(name, "Ax-", 3) == 0;
}

bool header_is_nats(const char *name)
{
    return strncasecmp(name, "Nats-", 5) == 0;
}
