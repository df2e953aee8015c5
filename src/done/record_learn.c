#include "done/record_learn.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

/* Leaves only the entries of keyed tasks, or only those of keyless ones. */
static void keep(struct record_batch *b, bool keyed)
{
    int kept = 0;
    for (int i = 0; i < b->count; i++) {
        if (name_is_keyed(b->entries[i].task) == keyed && kept++ != i)
            b->entries[kept - 1] = b->entries[i];
    }
    b->count = kept;
}

void record_learn_batch(struct batch_index *ix, struct batch_index *recent,
                        const struct record_batch_name *name, const struct record_batch *batch,
                        int64_t ns)
{
    struct record_batch some = *batch;
    keep(&some, true);
    bool mixed = some.count > 0 && some.count < batch->count;
    ax_err err = some.count > 0 ? batch_index_add(ix, name, &some, ns) : AX_OK;
    if (recent != NULL && (mixed || some.count == 0) && err == AX_OK) {
        some = *batch;
        keep(&some, false);
        err = batch_index_add(recent, name, &some, ns);
    }
    if (err != AX_OK)
        memory_fatal("index of finished tasks");
}

void record_learn_keyless(struct batch_index *recent, const char *id)
{
    static const struct record_batch_name none; /* of no batch: the own subject is read first */
    struct record_batch batch = {.count = 1};
    snprintf(batch.entries[0].task, sizeof(batch.entries[0].task), "%s", id);
    if (batch_index_add(recent, &none, &batch, 0) != AX_OK)
        memory_fatal("index of finished tasks");
}

/* id has a record of its own, stored at ns. */
static void learn_own(struct filter *f, struct batch_index *recent, const char *id, int64_t ns)
{
    if (!name_is_task_id(id))
        return; /* the firing of a recurring task, or put there by hand */
    if (!name_is_keyed(id)) {
        if (recent != NULL)
            record_learn_keyless(recent, id);
    } else if (filter_add(f, id, strlen(id), ns) != AX_OK) {
        /* the filter answers "maybe" from here on, so no record is missed */
        log_error("no memory for the filter of finished tasks; every key will be looked up", NULL);
    }
}

ax_err record_learn(struct filter *f, struct batch_index *ix, struct batch_index *recent,
                    const char *subject, natsMsg *msg, int64_t ns)
{
    struct record_batch_name name;
    struct record_batch batch;
    if (strncmp(subject, DONE_PREFIX, sizeof(DONE_PREFIX) - 1) != 0)
        return AX_OK;
    if (!record_batch_parse_subject(subject, &name)) {
        learn_own(f, recent, subject + sizeof(DONE_PREFIX) - 1, ns);
        return AX_OK;
    }
    ax_err err = record_batch_unpack(&batch, natsMsg_GetData(msg),
                                     (size_t)natsMsg_GetDataLength(msg));
    if (err != AX_OK)
        return err == AX_E_NOT_FOUND ? AX_OK : AX_E_PROTOCOL;
    record_learn_batch(ix, recent, &name, &batch, ns);
    for (int i = 0; i < batch.count; i++) {
        if (name_is_keyed(batch.entries[i].task))
            filter_add(f, batch.entries[i].task, strlen(batch.entries[i].task), ns);
    }
    return AX_OK;
}
