/* Record batches: the subject up to the first NUL byte, then the batch. What is
 * accepted is whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "done/record_batch.h"

static void try_batch(const uint8_t *data, size_t size)
{
    static struct record_batch batch, back;
    uint8_t buf[RECORD_BATCH_MAX_BYTES];
    struct record r;
    if (record_batch_unpack(&batch, data, size) != AX_OK)
        return;
    CHECK(batch.count >= 1 && batch.count <= RECORD_BATCH_ENTRIES_MAX && name_is_valid(batch.pool));
    for (int i = 0; i < batch.count; i++) {
        CHECK(name_is_task_id(batch.entries[i].task));
        CHECK(record_batch_find(&batch, batch.entries[i].task, &r) && r.state == RECORD_DONE);
    }
    size_t bytes = record_batch_pack(&batch, buf);
    CHECK(bytes <= sizeof(buf) && record_batch_unpack(&back, buf, bytes) == AX_OK &&
          back.count == batch.count);
}

static void try_subject(const char *subject)
{
    struct record_batch_name name;
    char again[SUBJECT_MAX_CHARS];
    if (record_batch_parse_subject(subject, &name)) {
        CHECK(name.entries >= 1 && name.entries <= RECORD_BATCH_ENTRIES_MAX);
        record_batch_subject(again, &name);
        CHECK(strcmp(again, subject) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = memchr(data, '\0', size);
    if (nul == NULL) {
        try_batch(data, size);
        return 0;
    }
    try_subject((const char *)data);
    try_batch(nul + 1, (size_t)(data + size - nul - 1));
    return 0;
}
