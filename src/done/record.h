/* What the bucket KV_AX_DONE holds, and the one place that knows its layout (docs/design.md). Pure.
 *
 *   $KV.AX_DONE.<id>                 idempotency record of one task (protobuf ax.v1.Record)
 *   $KV.AX_DONE.batch.<n>-<24 hex>    a page: n records of finished tasks of one pool in one
 * message (ax.v1.RecordPage) $KV.AX_DONE.cron-<schedule id>   the last firing of a recurring task
 * (ax.v1.Record)
 *
 * Of several words about one id the newest counts, by stream sequence. */
#ifndef AX_DONE_RECORD_H
#define AX_DONE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "task/names.h"

enum record_state { RECORD_DONE = 1, RECORD_CANCELLED = 2, RECORD_FIRED = 3 };

struct record {
    enum record_state state;
    char pool[NAME_MAX_CHARS + 1];
    uint32_t attempt;
    /* AX_WORK sequence that finished it; fired: AX_LATER sequence of the due message */
    uint64_t fence;
    int64_t finished_ns;               /* AX time; fired: when the due message was stored */
    char task[TASK_ID_CHARS + 1];      /* fired: the task of that firing */
    char priority[NAME_MAX_CHARS + 1]; /* fired: its queue */
};

/* Packs into buf (cap bytes; RECORD_MAX_BYTES always suffices); returns the length. */
#define RECORD_MAX_BYTES 192
size_t record_pack(const struct record *r, uint8_t *buf, size_t cap);
/* AX_E_PROTOCOL: not a record. AX_E_NOMEM: nothing is known. A KV delete marker (0 bytes) is
 * AX_E_NOT_FOUND. */
ax_err record_unpack(struct record *r, const void *data, size_t bytes);
/* "$KV.AX_DONE.<id>" into out[SUBJECT_MAX_CHARS]; returns the length. */
size_t record_subject(char *out, const char *id);
/* "$KV.AX_DONE.cron-<id of the schedule>": where the record of its last firing is. */
size_t record_subject_fired(char *out, const char *schedule_id);

/* ---- pages ---- */

#define RECORD_BATCH_ENTRIES_MAX 64
#define RECORD_BATCH_PREFIX DONE_PREFIX "page."
#define RECORD_BATCH_SUBJECTS DONE_PREFIX "page.*"

/* What names a page: chosen by who writes it, since listeners hear a publish before it has a
 * sequence. */
struct record_batch_name {
    uint64_t writer; /* random, of the writing process */
    uint32_t number; /* its pages counted */
    uint32_t entries;
};

struct record_batch_entry {
    char task[TASK_ID_CHARS + 1];
    uint32_t attempt;
    uint64_t fence;
    int64_t finished_ns;
};

struct record_batch {
    char pool[NAME_MAX_CHARS + 1];
    int count;
    struct record_batch_entry entries[RECORD_BATCH_ENTRIES_MAX];
};

#define RECORD_BATCH_ENTRY_MAX_BYTES 64
#define RECORD_BATCH_MAX_BYTES \
    (RECORD_BATCH_ENTRIES_MAX * RECORD_BATCH_ENTRY_MAX_BYTES + NAME_MAX_CHARS + 2)
/* Packs into buf (RECORD_BATCH_MAX_BYTES); returns the length. */
size_t record_batch_pack(const struct record_batch *p, uint8_t buf[RECORD_BATCH_MAX_BYTES]);
/* AX_E_PROTOCOL: not a page. Delete marker (0 bytes): AX_E_NOT_FOUND. */
ax_err record_batch_unpack(struct record_batch *p, const void *data, size_t bytes);
/* The record of task id in it; false: it has none. */
bool record_batch_find(const struct record_batch *p, const char *id, struct record *out);
/* The page's subject into out[SUBJECT_MAX_CHARS]; returns the length. */
size_t record_batch_subject(char *out, const struct record_batch_name *name);
/* False: subject does not name a page. */
bool record_batch_parse_subject(const char *subject, struct record_batch_name *out);

#endif
