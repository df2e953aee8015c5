/* The listening socket of HTTP. */
#ifndef AX_STATS_HTTP_LISTEN_H
#define AX_STATS_HTTP_LISTEN_H

#include "base/error.h"

/* Listens on that IP address, and on that port; -1: any free one. Returns the socket, which does
 * not block; the caller owns it. -1: p says why (port taken, no address …). */
int http_listen_open(const char *address, int port, struct problem *p);
/* The port that the socket is bound to; 0: unknown. */
int http_listen_port(int fd);

#endif
