/* A message as it comes from the wire, its header block unparsed. nats.c makes such messages with a
 * function that is not in its public header, though its library exports it; where it does not,
 * raw_message_make gives NULL and the caller skips by name. */
#ifndef AX_TESTS_RAW_MESSAGE_H
#define AX_TESTS_RAW_MESSAGE_H

#include <nats/nats.h>
#include <stdlib.h>
#include <string.h>

extern natsStatus natsMsg_create(natsMsg **msg, const char *subject, int subject_bytes,
                                 const char *reply, int reply_bytes, const char *data,
                                 int data_bytes, int header_bytes) __attribute__((weak));

static inline natsMsg *raw_message_make(const char *subject, const void *header,
                                        size_t header_bytes, const void *body, size_t body_bytes)
{
    natsMsg *msg = NULL;
    if (!natsMsg_create) {
        return NULL;
    }
    char *data = malloc(header_bytes + body_bytes + 1);
    if (!data) {
        return NULL;
    }
    if (header_bytes) {
        memcpy(data, header, header_bytes);
    }
    if (body_bytes) {
        memcpy(data + header_bytes, body, body_bytes);
    }
    if (natsMsg_create(&msg, subject, (int)strlen(subject), NULL, 0, data,
                       (int)(header_bytes + body_bytes), (int)header_bytes) != NATS_OK) {
        msg = NULL;
    }
    free(data);
    return msg;
}

#endif
