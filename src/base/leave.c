#include "base/leave.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/log.h"

/* LeakSanitizer checks in exit() by itself, but not in _Exit(). */
extern void __lsan_do_leak_check(void) __attribute__((weak));

noreturn void leave(int code)
{
    log_flush();
    if (__lsan_do_leak_check != NULL)
        __lsan_do_leak_check();
    _Exit(code);
}
