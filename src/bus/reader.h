/* Reads what a stream holds, in order, to its end, without a consumer (batched direct get, needs
 * allow_direct; works on work-queue streams too). Used to rebuild the filter, to adopt AX_WORK, to
 * list. Ends when the stream's last sequence as told by its leader at the start is passed, or when
 * the leader says that nothing more is there: the replica that is read may be behind. Loop lock
 * held in every call and callback. */
#ifndef AX_BUS_READER_H
#define AX_BUS_READER_H

#include "base/error.h"
#include "bus/pipeline.h"

struct reader;
struct reader_events {
    /* one message: subject, sequence, time; msg borrowed (its headers include the server's Nats-*
     * ones) */
    void (*message)(void *arg, const char *subject, uint64_t seq, int64_t time_ns, natsMsg *msg);
    /* once, last: AX_OK and the last sequence the stream had, or why not. The reader frees itself
     * afterwards. */
    void (*end)(void *arg, ax_err err, uint64_t last_seq);
    void *arg;
};

/* filter: subject with wildcards ("ax.work.email.>"); from_seq: first sequence (1: all). Retries by
 * itself for as long as the stream does not answer. */
ax_err reader_start(struct reader **out, struct pipeline *p, struct loop *l, const char *stream,
                    const char *filter, uint64_t from_seq, const struct reader_events *events);
void reader_cancel(struct reader *r); /* no further callback; frees it */

#endif
