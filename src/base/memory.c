#include "base/memory.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

_Noreturn void memory_fatal(const char *what)
{
    char quoted[128];
    log_error("out of memory, ending to be started again", "what=%s",
              log_quote(what, quoted, sizeof(quoted)));
    _exit(1); /* other threads run: no destructors */
}

static void *take(void *refused, size_t bytes)
{
    void *p = malloc(bytes);
    if (p == NULL)
        *(bool *)refused = true;
    return p;
}

static void give_back(void *refused, void *p)
{
    (void)refused;
    free(p);
}

ProtobufCAllocator memory_allocator(bool *refused)
{
    *refused = false;
    return (ProtobufCAllocator){take, give_back, refused};
}
