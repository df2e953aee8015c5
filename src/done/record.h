/* Idempotency records, and where the bucket KV_AX_DONE holds them (docs/design/records.md):
 *
 *   $KV.AX_DONE.<id>                  the record of one task (protobuf ax.v1.Record)
 *   $KV.AX_DONE.page.<n>-<24 hex>     a record batch: n of them (done/record_batch.h)
 *   $KV.AX_DONE.cron-<schedule id>    the last firing of a recurring task (ax.v1.Record)
 *
 * Where the bucket says several things about one id, the newest counts, by stream sequence. Pure
 * functions. */
#ifndef AX_DONE_RECORD_H
#define AX_DONE_RECORD_H

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
    int64_t submitted;                 /* stamp of the submission; 0: not known */
    char task[TASK_ID_CHARS + 1];      /* fired: the task of that firing */
    char priority[NAME_MAX_CHARS + 1]; /* fired: its queue */
};

/* Packs *r into buf of cap bytes; RECORD_MAX_BYTES always suffice. Returns the length; 0: cap is
 * too small. */
#define RECORD_MAX_BYTES 192
size_t record_pack(const struct record *r, uint8_t *buf, size_t cap);
/* Reads what a message of the bucket holds. AX_E_NOT_FOUND: 0 bytes, which is how a KV bucket marks
 * what was deleted. AX_E_PROTOCOL: not a record. AX_E_NOMEM: nothing is known. On error *r is as it
 * was. */
ax_err record_unpack(struct record *r, const void *data, size_t bytes);
/* Writes the subject of a task's own record into out[SUBJECT_MAX_CHARS]; returns its length. */
size_t record_subject(char *out, const char *id);
/* The same for the last firing of the recurring task with that schedule id. */
size_t record_subject_fired(char *out, const char *schedule_id);

#endif
