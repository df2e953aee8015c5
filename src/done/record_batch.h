/* Record batches: the records of up to 64 finished tasks of one pool in one message of the bucket
 * KV_AX_DONE (protobuf ax.v1.RecordPage). Under load one publish and one PubAck serve them all
 * (docs/design/records.md). Pure functions. */
#ifndef AX_DONE_RECORD_BATCH_H
#define AX_DONE_RECORD_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "done/record.h"

#define RECORD_BATCH_ENTRIES_MAX 64
#define RECORD_BATCH_PREFIX DONE_PREFIX "page."
#define RECORD_BATCH_SUBJECTS DONE_PREFIX "page.*"

/* What names a batch. Its writer chooses the name, since who hears a publish does not hear its
 * sequence. */
struct record_batch_name {
    uint64_t writer; /* random, of the writing process */
    uint32_t number; /* which of that writer's batches */
    uint32_t entries;
};

struct record_batch_entry {
    char task[TASK_ID_CHARS + 1];
    uint32_t attempt;
    uint64_t fence;
    int64_t finished_ns;
    int64_t submitted;
};

struct record_batch {
    char pool[NAME_MAX_CHARS + 1];
    int count;
    struct record_batch_entry entries[RECORD_BATCH_ENTRIES_MAX];
};

#define RECORD_BATCH_ENTRY_MAX_BYTES 80
#define RECORD_BATCH_MAX_BYTES \
    (RECORD_BATCH_ENTRIES_MAX * RECORD_BATCH_ENTRY_MAX_BYTES + NAME_MAX_CHARS + 2)
/* Packs *b into buf; returns the length. */
size_t record_batch_pack(const struct record_batch *b, uint8_t buf[RECORD_BATCH_MAX_BYTES]);
/* Reads what a message holds. AX_E_NOT_FOUND: 0 bytes, which is how a KV bucket marks what was
 * deleted. AX_E_PROTOCOL: not a batch; *b is undefined then. */
ax_err record_batch_unpack(struct record_batch *b, const void *data, size_t bytes);
/* Writes the record of task id; false: the batch has none. */
bool record_batch_find(const struct record_batch *b, const char *id, struct record *out);
/* Writes a batch's subject into out[SUBJECT_MAX_CHARS]; returns its length. */
size_t record_batch_subject(char *out, const struct record_batch_name *name);
/* Reads the name out of a subject; false: it names no batch. */
bool record_batch_parse_subject(const char *subject, struct record_batch_name *out);

#endif
