/* uthash, whose tables must not fail half-way: without memory the process says so and ends
 * (core/memory.h). */
#ifndef AX_CORE_HASH_H
#define AX_CORE_HASH_H

#include "core/memory.h"

#define uthash_fatal(msg) memory_fatal("hash table: " msg)
#include <uthash.h>

#endif
