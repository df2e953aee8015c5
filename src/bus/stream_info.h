/* STREAM.INFO read into a struct once: of an answer, of an item of STREAM.LIST, and asked of the
 * stream's leader without waiting. */
#ifndef AX_BUS_STREAM_INFO_H
#define AX_BUS_STREAM_INFO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/loop.h"
#include "bus/pipeline.h"

/* Messages that ax.max_later allows in AX_LATER where it is not there. */
#define STREAM_INFO_MAX_LATER 1000000
/* The same of ax.max_later_bytes and ax.max_schedules. */
#define STREAM_INFO_MAX_LATER_BYTES (8LL << 30)
#define STREAM_INFO_MAX_SCHEDULES 10000
/* Bytes that ax.max_dead_bytes allows in AX_DEAD where it is not there. */
#define STREAM_INFO_MAX_DEAD_BYTES (1LL << 30)

/* The part of a stream that one pool may hold where ax.pool_share is not there. */
#define STREAM_INFO_POOL_SHARE 0.9

struct stream_info {
    const char *name;    /* texts are borrowed from the answer */
    const char *subject; /* the first of its subjects; NULL: none */
    size_t subject_count;
    int replicas;
    bool clustered;     /* its servers are a cluster */
    int64_t created_ns; /* tells a stream from another of the same name; 0: not told */
    int64_t ts_ns;      /* the server's time of the answer; 0: not told */
    int64_t first_ns;   /* when the first message was stored; 0: there is none */
    uint64_t messages, bytes, first_seq, last_seq;
    int64_t consumers;
    int64_t max_msgs, max_bytes; /* -1: unlimited */
    int64_t max_age_ns;          /* 0: none */
    /* Metadata, as the operator wrote it; NULL: not there. */
    const char *rank, *on_full, *group_share, *pool_share; /* ax.rank and so on */
    /* ax.max_later, ax.max_later_bytes and so on; -1: not there or no number */
    int64_t max_later, max_later_bytes, max_schedules, max_dead_bytes;
};

/* Reads an answer or an item of a list (borrowed, and so are out's texts). AX_E_PROTOCOL: it holds
 * no stream. */
ax_err stream_info_read(const json_t *answer, struct stream_info *out);

/* A share, 0 … 1, from metadata. text NULL: not given, otherwise. False: no such number; *share is
 * `otherwise` then, too. */
bool stream_info_share(const char *text, double otherwise, double *share);

/* info is valid during the call only; NULL when err is not AX_OK. AX_E_NOT_FOUND: no such stream.
 * AX_E_TIMEOUT, AX_E_SERVER, AX_E_PROTOCOL, AX_E_NOMEM. */
typedef void (*stream_info_cb)(void *arg, ax_err err, const struct stream_info *info);

/* Asks the stream's leader; the answer's time stamp goes to the loop's clock. stream: copied. Lock
 * held. AX_E_BUSY, AX_E_NOMEM, AX_E_DISCONNECTED: not asked, cb is not called. */
ax_err stream_info_get(struct pipeline *p, struct loop *l, const char *stream, int64_t timeout_ms,
                       stream_info_cb cb, void *arg);

#endif
