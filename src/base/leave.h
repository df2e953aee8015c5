/* The end of a daemon, of one that could not start as well. */
#ifndef AX_BASE_LEAVE_H
#define AX_BASE_LEAVE_H

#include <stdnoreturn.h>

/* Ends the process as it stands. Its memory and threads go with it: freeing them one by one
 * would only race with nats.c's own threads. Everything that must survive is on the server, and
 * the connection was closed or flushed. In a build with LeakSanitizer the check for leaks runs
 * first. */
noreturn void leave(int code);

#endif
