/* When there is no memory. Where a step can be refused or left to its lease, it is (AX_E_NOMEM).
 * Where half of a change cannot be taken back, the process says so in one line and ends: it is
 * started again, and JetStream brings its work back. */
#ifndef AX_BASE_MEMORY_H
#define AX_BASE_MEMORY_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* Logs "out of memory" and ends the process with code 1. what: constant text, what could not be
 * kept. Any thread. */
_Noreturn void memory_fatal(const char *what);

/* For protobuf-c, which says NULL for bytes it cannot read and for want of memory alike: *refused
 * is set by the latter. */
ProtobufCAllocator memory_allocator(bool *refused);

#endif
