/* Reads what a stream holds, in order and to its end, without a consumer (batched direct get: the
 * stream needs allow_direct; works on work-queue streams too). A direct get may be answered by a
 * replica that is behind. So a reading ends only when it has passed the last sequence that the
 * stream's leader named at the start, or when the leader itself says that nothing more is stored.
 * The loop's lock is held in every call and callback. */
#ifndef AX_BUS_READER_H
#define AX_BUS_READER_H

#include "base/error.h"
#include "bus/pipeline.h"

struct reader;
struct reader_events {
    /* One message: subject, sequence, when it was stored. msg: borrowed; its headers include the
     * server's own (Nats-Subject and others). */
    void (*message)(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg);
    /* Once, last: AX_OK and the last sequence the stream had. The reader frees itself
     * afterwards. */
    void (*end)(void *arg, ax_err err, uint64_t last_seq);
    void *arg;
};

/* filter: subject with wildcards ("ax.work.email.>"); from_seq: first sequence (1: all). Asks again
 * for as long as the stream does not answer. out (may be NULL): for reader_cancel, until `end`.
 * AX_E_NOMEM. */
ax_err reader_start(struct reader **out, struct pipeline *p, struct loop *l, const char *stream,
                    const char *filter, uint64_t from_seq, const struct reader_events *events);
/* How many messages the stream holds on filter: asked once, answered by any replica, without
 * reading them. cb: once, later; err AX_OK and their number, or AX_E_TIMEOUT, AX_E_PROTOCOL.
 * AX_E_BUSY, AX_E_NOMEM, AX_E_DISCONNECTED: not asked, cb is not called. */
typedef void (*reader_count_cb)(void *arg, ax_err err, uint64_t messages);
ax_err reader_count(struct pipeline *p, const char *stream, const char *filter, int64_t timeout_ms,
                    reader_count_cb cb, void *arg);

/* No further callback; frees it. NULL allowed. */
void reader_cancel(struct reader *r);

#endif
