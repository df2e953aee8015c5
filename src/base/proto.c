#include "base/proto.h"

#include <stdbool.h>
#include <stdlib.h>

/* protobuf-c returns NULL for bytes that it cannot read, and without memory as well: this allocator
 * writes down which it was. */
static void *take(void *refused, size_t bytes)
{
    void *p = malloc(bytes);
    if (p == NULL)
        *(bool *)refused = true;
    return p;
}

static void give_back(void *refused, void *p)
{
    (void)refused;
    free(p);
}

void *proto_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t bytes,
                   ax_err *err)
{
    static const uint8_t nothing[1]; /* protobuf-c wants a place even for no bytes */
    bool refused = false;
    ProtobufCAllocator allocator = {take, give_back, &refused};
    void *m = protobuf_c_message_unpack(type, &allocator, bytes, bytes > 0 ? data : nothing);
    *err = m != NULL ? AX_OK : refused ? AX_E_NOMEM : AX_E_PROTOCOL;
    return m;
}

void proto_free(void *message)
{
    ProtobufCAllocator allocator = {take, give_back, NULL};
    if (message != NULL)
        protobuf_c_message_free_unpacked(message, &allocator);
}

uint8_t *proto_pack(const void *message, size_t *bytes)
{
    *bytes = protobuf_c_message_get_packed_size(message);
    uint8_t *buf = malloc(*bytes + 1);
    if (buf != NULL)
        protobuf_c_message_pack(message, buf);
    return buf;
}
