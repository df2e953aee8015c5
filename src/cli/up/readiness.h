/* Whether a daemon that `ax up` has started is ready. */
#ifndef AX_CLI_UP_READINESS_H
#define AX_CLI_UP_READINESS_H

#include <stdbool.h>
#include <stddef.h>

/* A TCP port of the loopback that nobody has just now; 0: none. */
int readiness_free_port(void);
/* GET /readyz on 127.0.0.1:port, within about a second: true when it answers 200; else why gets the
 * reason (cap bytes, one line). */
bool readiness_probe(int port, char *why, size_t cap);

#endif
