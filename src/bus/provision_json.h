/* What provision.c and provision_pool.c share: the JetStream API with jansson values in place of
 * text. */
#ifndef AX_BUS_PROVISION_JSON_H
#define AX_BUS_PROVISION_JSON_H

#include <jansson.h>

#include "bus/provision.h"

#define PROVISION_TIMEOUT_MS 5000

/* err_codes of the server that provisioning acts upon. */
#define JS_ERR_NO_PEERS 10005 /* fewer servers are up than replicas are asked for */
#define JS_ERR_UNAVAILABLE 10008
#define JS_ERR_CONSUMER_NOT_FOUND 10014
#define JS_ERR_NO_MESSAGE 10037
#define JS_ERR_STORAGE_EXCEEDED 10047
#define JS_ERR_STREAM_NAME_EXISTS 10058
#define JS_ERR_STREAM_NOT_FOUND 10059
#define JS_ERR_REPLICAS_NOT_SUPPORTED 10074 /* a single server */
#define JS_ERR_WRONG_LAST_SEQUENCE 10071
#define JS_ERR_CONSUMER_EXISTS 10148

/* provision_api with a JSON value; payload (may be NULL) is taken, also on failure. *reply: new
 * reference. */
ax_err provision_json(natsConnection *nc, const char *what, json_t *payload, json_t **reply,
                      int *err_code, struct problem *p);
/* Reads an answer: AX_OK and *out, or AX_E_SERVER with *err_code, or AX_E_PROTOCOL. what: named in
 * the problem. */
ax_err provision_read_answer(const char *what, const char *data, size_t bytes, json_t **out,
                             int *err_code, struct problem *p);
/* nats.c's word about a request that got no answer. */
ax_err provision_no_answer(natsStatus s, const char *what, struct problem *p);

#endif
