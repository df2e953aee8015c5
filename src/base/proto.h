/* Packing and unpacking protobuf messages of protobuf-c. Parsers of foreign input. Pure. */
#ifndef AX_BASE_PROTO_H
#define AX_BASE_PROTO_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Reads a message of this type; freed by proto_free. data may be NULL for no bytes. NULL: *err is
 * AX_E_PROTOCOL, the bytes are no such message, or AX_E_NOMEM; else AX_OK. */
void *proto_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t bytes,
                   ax_err *err);
void proto_free(void *message);

/* The bytes of a message; caller frees. NULL: out of memory. */
uint8_t *proto_pack(const void *message, size_t *bytes);

#endif
