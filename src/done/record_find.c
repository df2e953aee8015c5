#include "done/record_find.h"
#include "bus/pipeline_get.h"

#include <stdio.h>
#include <stdlib.h>

struct find {
    struct pipeline *pipeline;
    char id[TASK_ID_CHARS + 1];
    int64_t timeout_ms;
    record_find_cb cb;
    void *arg;
    ax_err err; /* of reading the task's own subject; own and own_seq are what it held */
    struct record own;
    uint64_t own_seq;
    int candidates, next;
    struct record_batch_name batches[BATCH_INDEX_FOUND_MAX];
};

static void end(struct find *f, ax_err err, const struct record *r, uint64_t seq)
{
    f->cb(f->arg, err, r, seq);
    free(f);
}

static void read_batch(struct find *f);

static void on_batch(void *arg, ax_err err, const struct stored_msg *found)
{
    struct find *f = arg;
    struct record_batch batch;
    struct record r;
    if (err == AX_OK && found->seq > f->own_seq &&
        record_batch_unpack(&batch, natsMsg_GetData(found->msg),
                            (size_t)natsMsg_GetDataLength(found->msg)) == AX_OK &&
        record_batch_find(&batch, f->id, &r))
        end(f, AX_OK, &r, found->seq);
    else if (err == AX_OK || err == AX_E_NOT_FOUND) {
        /* another id's fingerprint led here, or the own record is newer */
        read_batch(f);
    } else
        end(f, err, NULL, 0);
}

static void read_batch(struct find *f)
{
    char subject[SUBJECT_MAX_CHARS];
    if (f->next == f->candidates) {
        end(f, f->err, f->err == AX_OK ? &f->own : NULL, f->own_seq);
        return;
    }
    record_batch_subject(subject, &f->batches[f->next++]);
    ax_err err = pipeline_get(f->pipeline, STREAM_DONE, subject, 0, f->timeout_ms, on_batch, f);
    if (err != AX_OK)
        end(f, err, NULL, 0);
}

static void on_own(void *arg, ax_err err, const struct stored_msg *found)
{
    struct find *f = arg;
    if (err != AX_OK && err != AX_E_NOT_FOUND) {
        end(f, err, NULL, 0);
        return;
    }
    f->err = err;
    if (err == AX_OK) {
        f->own_seq = found->seq;
        f->err = record_unpack(&f->own, natsMsg_GetData(found->msg),
                               (size_t)natsMsg_GetDataLength(found->msg));
    }
    read_batch(f);
}

ax_err record_find(struct pipeline *p, const struct batch_index *ix, const char *id,
                   int64_t timeout_ms, record_find_cb cb, void *arg)
{
    char subject[SUBJECT_MAX_CHARS];
    struct find *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return AX_E_NOMEM;
    f->pipeline = p;
    snprintf(f->id, sizeof(f->id), "%s", id);
    f->timeout_ms = timeout_ms;
    f->cb = cb;
    f->arg = arg;
    f->candidates = ix != NULL ? batch_index_find(ix, id, f->batches) : 0;
    record_subject(subject, id);
    ax_err err = pipeline_get(p, STREAM_DONE, subject, 0, timeout_ms, on_own, f);
    if (err != AX_OK)
        free(f);
    return err;
}
