/* A last word when the process crashes, so that its log says why it ended: it may be a bug, or a
 * library without memory (nats.c 3.4 crashes in its own clean-up when parsing the server's INFO
 * runs out of it). */
#ifndef AX_BASE_CRASH_H
#define AX_BASE_CRASH_H

/* program: as in log_init; borrowed. A handler that is there already (a sanitizer's) stays. */
void crash_init(const char *program);

#endif
