#include "base/memory.h"

#include <unistd.h>

#include "base/log.h"

_Noreturn void memory_fatal(const char *what)
{
    char quoted[128];
    log_error("out of memory, ending to be started again", "what=%s",
              log_quote(what, quoted, sizeof(quoted)));
    log_flush();
    _exit(1); /* other threads run: no destructors */
}
