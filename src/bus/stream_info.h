/* A stream's state and the settings ingress cares about, asked of its leader without waiting. */
#ifndef AX_BUS_STREAM_INFO_H
#define AX_BUS_STREAM_INFO_H

#include <stdint.h>

#include "base/error.h"
#include "bus/loop.h"
#include "bus/pipeline.h"

struct stream_info {
    char created[40]; /* tells a stream from another of the same name */
    uint64_t messages, bytes, last_seq;
    int64_t max_msgs, max_bytes; /* -1: unlimited */
    int64_t max_age_ns;          /* 0: none */
    int64_t max_later;           /* metadata ax.max_later; -1: not there */
};
/* info is valid during the call only; NULL when err is not AX_OK. AX_E_NOT_FOUND: no such
 * stream. */
typedef void (*stream_info_cb)(void *arg, ax_err err, const struct stream_info *info);

/* Lock held. The answer's time stamp goes to the loop's clock. On error cb is not called. */
ax_err stream_info_get(struct pipeline *p, struct loop *l, const char *stream, int64_t timeout_ms,
                       stream_info_cb cb, void *arg);

/* Messages a consumer has not finished yet, delivered or not; the same rules. */
typedef void (*consumer_left_cb)(void *arg, ax_err err, uint64_t left);
ax_err consumer_left_get(struct pipeline *p, struct loop *l, const char *stream,
                         const char *consumer, int64_t timeout_ms, consumer_left_cb cb, void *arg);

#endif
