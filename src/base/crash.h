/* One line in the log when the process crashes, so that the log says why it ended. The cause may
 * be a bug, or a library without memory: nats.c 3.4 crashes in its own clean-up when it has none
 * while parsing the server's INFO. */
#ifndef AX_BASE_CRASH_H
#define AX_BASE_CRASH_H

/* program: as in log_init; borrowed. A handler that is installed already (a sanitizer's) stays. */
void crash_init(const char *program);

#endif
