/* One stored message, asked of its stream's leader. */
#ifndef AX_BUS_PIPELINE_GET_H
#define AX_BUS_PIPELINE_GET_H

#include <jansson.h>
#include <nats/nats.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/pipeline.h"

/* STREAM.MSG.GET through the leader (never a stale replica): by subject (last message there;
 * wildcards allowed), by sequence (subject NULL), or with both the first message on subject from
 * that sequence on. cb: AX_OK and *found filled, AX_E_NOT_FOUND, or an error. */
struct stored_msg {
    const char *subject; /* borrowed, all of it, for the callback */
    uint64_t seq;
    int64_t time_ns;
    natsMsg *msg; /* headers and body; destroyed after the callback */
};
/* Reads the answer to STREAM.MSG.GET. answer: borrowed, out->subject with it; out->msg is the
 * caller's to destroy, NULL on error. AX_E_PROTOCOL, AX_E_NOMEM. */
ax_err pipeline_get_read(const json_t *answer, struct stored_msg *out);

typedef void (*pipeline_get_cb)(void *arg, ax_err err, const struct stored_msg *found);
ax_err pipeline_get(struct pipeline *p, const char *stream, const char *subject, uint64_t seq,
                    int64_t timeout_ms, pipeline_get_cb cb, void *arg);

#endif
