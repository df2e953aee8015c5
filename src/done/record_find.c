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
    ax_err err; /* of reading the task's own subject; own and own_seq are the record there */
    struct record own;
    uint64_t own_seq;
    uint64_t unreadable_seq; /* of a message that should hold a record; 0: none */
    int candidates, next;
    struct record_batch_name batches[BATCH_INDEX_FOUND_MAX];
};

static void end(struct find *f, ax_err err, const struct record *r, uint64_t seq)
{
    f->cb(f->arg, err, r, seq);
    free(f);
}

static void read_batch(struct find *f);

/* False: another id's fingerprint led here, or the own record is newer. */
static bool is_in_batch(struct find *f, const struct stored_msg *found, struct record *r)
{
    struct record_batch batch;
    if (found->seq <= f->own_seq)
        return false;
    ax_err err = record_batch_unpack(&batch, natsMsg_GetData(found->msg),
                                     (size_t)natsMsg_GetDataLength(found->msg));
    if (err == AX_E_PROTOCOL)
        f->unreadable_seq = found->seq;
    return err == AX_OK && record_batch_find(&batch, f->id, r);
}

static void on_batch(void *arg, ax_err err, const struct stored_msg *found)
{
    struct find *f = arg;
    struct record r;
    if (err == AX_OK && is_in_batch(f, found, &r))
        end(f, AX_OK, &r, found->seq);
    else if (err == AX_OK || err == AX_E_NOT_FOUND)
        read_batch(f);
    else
        end(f, err, NULL, 0);
}

/* Nothing newer was found. */
static void end_with_own(struct find *f)
{
    if (f->err == AX_OK)
        end(f, AX_OK, &f->own, f->own_seq);
    else if (f->err == AX_E_NOT_FOUND && f->unreadable_seq != 0)
        end(f, AX_E_PROTOCOL, NULL, f->unreadable_seq);
    else
        end(f, f->err, NULL, 0);
}

static void read_batch(struct find *f)
{
    char subject[SUBJECT_MAX_CHARS];
    if (f->next == f->candidates) {
        end_with_own(f);
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
        f->err = record_unpack(&f->own, natsMsg_GetData(found->msg),
                               (size_t)natsMsg_GetDataLength(found->msg));
        if (f->err != AX_E_PROTOCOL)
            f->own_seq = found->seq;
    }
    if (f->err == AX_E_PROTOCOL) { /* as if it were not there: a record in a batch counts */
        f->unreadable_seq = found->seq;
        f->err = AX_E_NOT_FOUND;
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
