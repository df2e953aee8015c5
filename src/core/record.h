/* Idempotency record, and the last firing of a recurring task: what KV_AX_DONE holds under $KV.AX_DONE.<id> (protobuf ax.v1.Record). The one place that knows
 * the bucket's layout (docs/design.md). Pure. */
#ifndef AX_CORE_RECORD_H
#define AX_CORE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/names.h"

enum record_state { RECORD_DONE = 1, RECORD_CANCELLED = 2, RECORD_FIRED = 3 };

struct record {
    enum record_state state;
    char pool[NAME_MAX_CHARS + 1];
    uint32_t attempt;
    uint64_t fence;       /* AX_WORK sequence that finished it; fired: AX_LATER sequence of the due message */
    int64_t finished_ns;  /* AX time; fired: when the due message was stored */
    char task[TASK_ID_CHARS + 1];       /* fired: the task of that firing */
    char priority[NAME_MAX_CHARS + 1];  /* fired: its queue */
};

/* Packs into buf (cap bytes; RECORD_MAX_BYTES always suffices); returns the length. */
#define RECORD_MAX_BYTES 192
size_t record_pack(const struct record *r, uint8_t *buf, size_t cap);
/* AX_E_PROTOCOL: not a record. A KV delete marker (0 bytes) is AX_E_NOT_FOUND. */
ax_err record_unpack(struct record *r, const void *data, size_t bytes);
/* "$KV.AX_DONE.<id>" into out[SUBJECT_MAX_CHARS]; returns the length. */
size_t record_subject(char *out, const char *id);
/* "$KV.AX_DONE.cron-<id of the schedule>": where the record of its last firing is. */
size_t record_subject_fired(char *out, const char *schedule_id);

#endif
