/* The daemons' HTTP face (libmicrohttpd): GET /healthz (200 while the process lives), /readyz (200
 * when ready() says so, else 503 with its reason), /metrics. Loopback unless told otherwise. One
 * request a connection; http_places.h says how many connections there are and for how long. */
#ifndef AX_STATS_HTTP_H
#define AX_STATS_HTTP_H

#include <stdbool.h>

#include "base/error.h"

struct http;
/* ready: writes a one-line reason into why[cap] when not ready; called on HTTP's own thread.
 * port -1: any free one. AX_E_IO: p says why (port taken …). */
ax_err http_start(struct http **out, const char *bind, int port,
                  bool (*ready)(void *arg, char *why, unsigned long cap), void *arg,
                  struct problem *p);
int http_port(const struct http *h);
void http_stop(struct http *h); /* NULL allowed */

#endif
