/* What workers send on $JS.ACK: the subject up to the first newline, then the payload. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/ack.h"
#include "bus/pull.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    size_t subject_bytes = newline ? (size_t)(newline - data) : 0;
    char *subject = strndup((const char *)data, subject_bytes);
    struct ack_subject s;
    if (subject && ack_parse_subject(subject, &s)) {
        CHECK(strlen(s.stream) > 0 && strlen(s.consumer) > 0 && s.timestamp_ns >= 0);
    }
    free(subject);

    const char *payload = newline ? (const char *)newline + 1 : (const char *)data;
    size_t bytes = newline ? size - subject_bytes - 1 : size;
    struct ack_payload a;
    ack_parse_payload(payload, bytes, &a);
    CHECK(a.delay_ms >= -1 && (a.delay_ms == -1 || a.kind == ACK_NAK));
    CHECK(strnlen(a.reason, sizeof(a.reason)) < sizeof(a.reason) && !strpbrk(a.reason, "\r\n"));
    if (a.kind == ACK_NEXT) {
        struct pull_request r;
        CHECK(a.next >= payload && a.next + a.next_bytes == payload + bytes);
        CHECK(!pull_parse(a.next, a.next_bytes, &r) || r.batch >= 1);
    }
    return 0;
}
