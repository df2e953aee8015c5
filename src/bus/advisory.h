/* JetStream's advisories about one message of a consumer: MAX_DELIVERIES and MSG_TERMINATED. A
 * parser of foreign input. Pure. */
#ifndef AX_BUS_ADVISORY_H
#define AX_BUS_ADVISORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADVISORY_REASON_MAX 200

struct advisory {
    char consumer[64];   /* longer names are not ours: "" */
    uint64_t stream_seq; /* 0: not told */
    /* MSG_TERMINATED: the worker's words, cut to ADVISORY_REASON_MAX bytes; "" if none */
    char reason[ADVISORY_REASON_MAX + 1];
    bool has_reason;
    /* The server says "terminated" of its own accord as well, of a message that was removed while a
     * consumer's replica took it for un-acked: the worker's ack removed it, and that replica had
     * not heard of the ack yet. Only the server's text tells the two apart. */
    bool is_servers_own;
};

/* False: no JSON object. */
bool advisory_read(const char *data, size_t bytes, struct advisory *out);

#endif
