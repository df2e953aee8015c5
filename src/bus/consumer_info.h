/* CONSUMER.INFO read into a struct once, and asked of the consumer's leader without waiting. */
#ifndef AX_BUS_CONSUMER_INFO_H
#define AX_BUS_CONSUMER_INFO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/loop.h"
#include "bus/pipeline.h"

struct consumer_info {
    int64_t ts_ns;           /* the server's time of the answer; 0: not told */
    int64_t created_ns;      /* when it was made; 0: not told */
    int64_t ack_wait_ns;     /* 0 to a year */
    int64_t max_ack_pending; /* 0 or less: unlimited */
    int64_t max_deliver;     /* -1: unlimited */
    uint64_t delivered_stream_seq, delivered_consumer_seq;
    int64_t num_ack_pending; /* counts are 0 to 10^12. Delivered and neither acked nor terminated */
    int64_t num_pending;     /* not delivered yet */
    int64_t num_waiting;     /* pulls */
    bool paused;
    const char *leader;   /* server that leads it, in a cluster; NULL: not told. Borrowed */
    const json_t *config; /* as the server wrote it; borrowed */
};

/* The ack wait of a configuration, as in the struct. */
int64_t consumer_info_ack_wait_ns(const json_t *config);

/* Reads an answer (borrowed, and so are out's texts). AX_E_PROTOCOL: it holds no consumer. */
ax_err consumer_info_read(const json_t *answer, struct consumer_info *out);

/* info is valid during the call only; NULL when err is not AX_OK. AX_E_NOT_FOUND: no such consumer,
 * or no such stream. AX_E_TIMEOUT, AX_E_SERVER, AX_E_PROTOCOL, AX_E_NOMEM. */
typedef void (*consumer_info_cb)(void *arg, ax_err err, const struct consumer_info *info);

/* Asks the consumer's leader; the answer's time stamp goes to the loop's clock. stream, consumer:
 * copied. Lock held. AX_E_BUSY, AX_E_NOMEM, AX_E_DISCONNECTED: not asked, cb is not called. */
ax_err consumer_info_get(struct pipeline *p, struct loop *l, const char *stream,
                         const char *consumer, int64_t timeout_ms, consumer_info_cb cb, void *arg);

#endif
