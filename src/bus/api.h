/* The JetStream API ($JS.API.…): its answers, JSON with either what was asked for or an error, and
 * asking without waiting. */
#ifndef AX_BUS_API_H
#define AX_BUS_API_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/jserr.h"
#include "bus/loop.h"
#include "bus/pipeline.h"

#define API_SUBJECT_MAX 256 /* longest subject of a request, with "$JS.API." and NUL */

/* What came back. Valid during the callback only. */
struct api_answer {
    ax_err err;            /* AX_OK; AX_E_TIMEOUT, AX_E_SERVER, AX_E_PROTOCOL, AX_E_NOMEM */
    int err_code;          /* AX_E_SERVER: see bus/jserr.h; 0 otherwise */
    char description[128]; /* AX_E_SERVER: the server's text, for people */
    const json_t *root;    /* AX_OK: borrowed; otherwise NULL */
};

/* Reads an answer's bytes: *root is a new reference (NULL unless AX_OK) that out borrows. */
void api_read(const char *data, size_t bytes, struct api_answer *out, json_t **root);

/* What is wrong with an answer that is not AX_OK, for people; what: as in api_ask. Returns its
 * err. */
ax_err api_problem(const char *what, const struct api_answer *a, struct problem *p);

typedef void (*api_cb)(void *arg, const struct api_answer *a);

/* One request; what: the subject behind "$JS.API."; payload (NULL: none) is taken, also on error.
 * The answer's "ts" goes to the loop's clock. Lock held. AX_E_TOO_LONG, AX_E_BUSY, AX_E_NOMEM,
 * AX_E_DISCONNECTED: not asked, cb is not called. */
ax_err api_ask(struct pipeline *p, struct loop *l, const char *what, json_t *payload,
               int64_t timeout_ms, api_cb cb, void *arg);

/* A time stamp of an answer: RFC 3339 text under name in o, in ns; 0: none there. */
int64_t api_time_ns(const json_t *o, const char *name);
/* A whole number under name in o; otherwise: none there. */
int64_t api_integer(const json_t *o, const char *name, int64_t otherwise);

#endif
