/* The end of a daemon, of one that could not start as well. */
#ifndef AX_BASE_LEAVE_H
#define AX_BASE_LEAVE_H

#include <stdnoreturn.h>

/* Ends the process as it stands: its memory and threads go with it, and taking them apart one by
 * one would only race with nats.c's own. Everything that must survive is on the server, and the
 * connection was closed or written out. With LeakSanitizer in the build it looks first for what
 * nobody points to any more. */
noreturn void leave(int code);

#endif
