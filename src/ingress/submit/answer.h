/* What became of a submission, and telling its producer: JSON in the shape of a JetStream PubAck
 * (docs/design/submitting.md). */
#ifndef AX_INGRESS_SUBMIT_ANSWER_H
#define AX_INGRESS_SUBMIT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/jserr.h"
#include "bus/wire.h"
#include "task/names.h"

struct verdict {
    int code;               /* 0: taken; 400 or 503: not */
    int err_code;           /* bus/jserr.h: those that JetStream has for the same */
    int64_t retry_after_ms; /* 503: 0 not known */
    const char *stream;     /* taken: where it is; borrowed */
    uint64_t seq;
    bool duplicate;
    const char *task;  /* borrowed */
    const char *state; /* static */
    char description[400];
};

void answer_set_error(struct verdict *v, int code, int err_code, int64_t retry_after_ms,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The verdict as JSON into buf; returns its length. ANSWER_MAX_BYTES always suffices: what is not
 * UTF-8 in the description becomes '?', and so does what could mislead a reader, such as control
 * characters (base/text/safe_text.h). */
#define ANSWER_MAX_BYTES 1024
size_t answer_format(const struct verdict *v, char *buf, size_t cap);

/* Publishes it to reply. A lost answer is a time-out to the producer, who asks again: errors are
 * not looked at. */
void answer_send(struct wire *wire, const char *reply, const struct verdict *v);

#endif
