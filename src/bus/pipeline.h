/* JetStream pipeline: publishes with their PubAcks, and requests, asynchronously; all answers come
 * on one wildcard inbox (docs/design/threads.md, "Requests and answers"). The number in flight is
 * bounded and every request has a time-out. A publish whose outcome is unknown (no answer, no
 * responders, "in process") is repeated until the server has answered. Callbacks run with the
 * loop's lock held, as every call is made. */
#ifndef AX_BUS_PIPELINE_H
#define AX_BUS_PIPELINE_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/jserr.h"
#include "bus/loop.h"
#include "bus/wire.h"

struct pipeline;

/* What came back. Valid during the callback only. */
struct answer {
    /* AX_OK: reply holds a message; AX_E_TIMEOUT, AX_E_SERVER, AX_E_PROTOCOL */
    ax_err err;
    natsMsg *reply; /* borrowed */
    /* pipeline_publish only: the PubAck taken apart; err AX_E_SERVER when err_code is set */
    char stream[64];
    uint64_t seq;
    bool duplicate;
    int code, err_code;
    enum jserr_full full_of; /* JSERR_STORE_FULL: which bound */
    uint64_t last_seq;       /* JSERR_WRONG_LAST_SEQ: the last on the subject; 0: not told */
    char description[128];   /* for people; decisions go by the fields above */
    /* publishes made, 1… ; > 1: an earlier one may have been stored unanswered */
    int tries;
};
typedef void (*pipeline_cb)(void *arg, const struct answer *a);

/* max_inflight: how many publishes and requests at the same time. Subscribes an inbox. Lives as
 * long as the process. AX_E_NOMEM, AX_E_DISCONNECTED. */
ax_err pipeline_new(struct pipeline **out, struct wire *wire, struct loop *l, int max_inflight);

/* The reply subject the next pipeline_publish will need in its message: build the message with it,
 * then publish at once. buf[PIPELINE_REPLY_MAX]. AX_E_BUSY when no slot is free. */
#define PIPELINE_REPLY_MAX 96
ax_err pipeline_reserve(struct pipeline *p, char *buf);

/* Gives the reserved slot back: the message could not be built. */
void pipeline_cancel(struct pipeline *p, const char *reply);

/* Publishes msg (taken, also on error; its reply must be the reserved one) and calls cb exactly
 * once with the server's answer. Unknown outcomes are retried with the same message until
 * give_up_ms has passed (0: never gives up). The caller makes repeats safe (message id or expected
 * sequence). On error cb is not called. msg NULL (it could not be built): the reserved slot is
 * given back, AX_E_NOMEM. While there is no connection nothing is published, and all of it
 * afterwards: what nats.c would keep until then could not be given up. */
ax_err pipeline_publish(struct pipeline *p, const char *reply, natsMsg *msg, int64_t give_up_ms,
                        pipeline_cb cb, void *arg);

/* No longer repeats those publishes that call back cb and for whose arg `which` is true: they are
 * answered within 100 ms, by the server or with AX_E_TIMEOUT. */
void pipeline_give_up(struct pipeline *p, pipeline_cb cb, bool (*which)(const void *arg));

/* One request (API, direct get, ack with reply), payload copied; cb once with the answer,
 * AX_E_TIMEOUT after timeout_ms. */
ax_err pipeline_request(struct pipeline *p, const char *subject, const void *data, size_t bytes,
                        int64_t timeout_ms, pipeline_cb cb, void *arg);

/* A request with several answers (batched direct get): cb for each until it returns false;
 * AX_E_TIMEOUT when none has come for idle_ms, after which it is over whatever cb returns. */
typedef bool (*pipeline_many_cb)(void *arg, const struct answer *a);
ax_err pipeline_request_many(struct pipeline *p, const char *subject, const void *data,
                             size_t bytes, int64_t idle_ms, pipeline_many_cb cb, void *arg);

int pipeline_inflight(const struct pipeline *p);
int pipeline_room(const struct pipeline *p);
/* After a reconnect: sends every pending publish (again) at once instead of after its time-out. */
void pipeline_reconnected(struct pipeline *p);

#endif
