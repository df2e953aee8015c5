#include "base/leave.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* LeakSanitizer checks in exit() by itself, but not in _Exit(). */
extern void __lsan_do_leak_check(void) __attribute__((weak));

noreturn void leave(int code)
{
    fflush(stderr);
    if (__lsan_do_leak_check != NULL)
        __lsan_do_leak_check();
    _Exit(code);
}
