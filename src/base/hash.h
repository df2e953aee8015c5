/* uthash, whose tables must not fail half-way: without memory the process says so and ends
 * (base/memory.h). */
#ifndef AX_BASE_HASH_H
#define AX_BASE_HASH_H

#include "base/memory.h"

#define uthash_fatal(msg) memory_fatal("hash table: " msg)
#include <uthash.h>

#endif
