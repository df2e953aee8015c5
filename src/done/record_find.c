#include "done/record_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

static void keep(struct record_batch *p, bool keyed)
{
    int kept = 0;
    for (int i = 0; i < p->count; i++) {
        if (name_is_keyed(p->entries[i].task) == keyed && kept++ != i)
            p->entries[kept - 1] = p->entries[i];
    }
    p->count = kept;
}

void record_learn_batch(struct batch_index *ix, struct batch_index *recent,
                        const struct record_batch_name *name, const struct record_batch *page,
                        int64_t ns)
{
    struct record_batch some = *page;
    keep(&some, true);
    bool mixed = some.count > 0 && some.count < page->count;
    ax_err err = some.count > 0 ? batch_index_add(ix, name, &some, ns) : AX_OK;
    if (recent != NULL && (mixed || some.count == 0) && err == AX_OK) {
        some = *page;
        keep(&some, false);
        err = batch_index_add(recent, name, &some, ns);
    }
    if (err != AX_OK)
        memory_fatal("index of finished tasks"); /* what is done would be run again */
}

void record_learn_keyless(struct batch_index *recent, const char *id)
{
    static const struct record_batch_name none; /* of no page: its own subject is read first */
    struct record_batch page = {.count = 1};
    snprintf(page.entries[0].task, sizeof(page.entries[0].task), "%s", id);
    if (batch_index_add(recent, &none, &page, 0) != AX_OK)
        memory_fatal("index of finished tasks");
}

void record_learn(struct filter *f, struct batch_index *ix, struct batch_index *recent,
                  const char *subject, natsMsg *msg, int64_t ns)
{
    struct record_batch_name name;
    struct record_batch page;
    if (strncmp(subject, DONE_PREFIX, sizeof(DONE_PREFIX) - 1) != 0)
        return;
    if (!record_batch_parse_subject(subject, &name)) {
        const char *id = subject + sizeof(DONE_PREFIX) - 1;
        /* without memory the filter says maybe to everything, and that is right */
        if (name_is_task_id(id) && name_is_keyed(id) &&
            filter_add(f, id, strlen(id), ns) != AX_OK) {
            log_error("no memory for the filter of finished tasks; every key will be looked up",
                      NULL);
        }
        if (recent != NULL && name_is_task_id(id) && !name_is_keyed(id))
            record_learn_keyless(recent, id);
        return;
    }
    ax_err err = record_batch_unpack(&page, natsMsg_GetData(msg),
                                     (size_t)natsMsg_GetDataLength(msg));
    if (err != AX_OK) {
        if (err != AX_E_NOT_FOUND) {
            log_error("unreadable page of idempotency records, its tasks may run again",
                      "subject=%s", subject);
        }
        return;
    }
    record_learn_batch(ix, recent, &name, &page, ns);
    for (int i = 0; i < page.count; i++) {
        if (name_is_keyed(page.entries[i].task))
            filter_add(f, page.entries[i].task, strlen(page.entries[i].task), ns);
    }
}

struct find {
    struct pipeline *pipeline;
    char id[TASK_ID_CHARS + 1];
    int64_t timeout_ms;
    record_find_cb cb;
    void *arg;
    /* of the task's own subject */
    ax_err err;
    struct record own;
    uint64_t own_seq;
    int candidates, next;
    struct record_batch_name pages[RECORD_BATCH_CANDIDATES_MAX];
};

static void end(struct find *f, ax_err err, const struct record *r, uint64_t seq)
{
    f->cb(f->arg, err, r, seq);
    free(f);
}

static void read_page(struct find *f);

static void on_page(void *arg, ax_err err, const struct stored_msg *found)
{
    struct find *f = arg;
    struct record_batch page;
    struct record r;
    if (err == AX_OK && found->seq > f->own_seq &&
        record_batch_unpack(&page, natsMsg_GetData(found->msg),
                            (size_t)natsMsg_GetDataLength(found->msg)) == AX_OK &&
        record_batch_find(&page, f->id, &r))
        end(f, AX_OK, &r, found->seq);
    else if (err == AX_OK || err == AX_E_NOT_FOUND) {
        /* its fingerprint is another id's, or a newer word stands under the own subject */
        read_page(f);
    } else
        end(f, err, NULL, 0);
}

static void read_page(struct find *f)
{
    char subject[SUBJECT_MAX_CHARS];
    if (f->next == f->candidates) {
        end(f, f->err, f->err == AX_OK ? &f->own : NULL, f->own_seq);
        return;
    }
    record_batch_subject(subject, &f->pages[f->next++]);
    ax_err err = pipeline_get(f->pipeline, STREAM_DONE, subject, 0, f->timeout_ms, on_page, f);
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
    read_page(f);
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
    f->candidates = ix != NULL ? batch_index_find(ix, id, f->pages) : 0;
    record_subject(subject, id);
    ax_err err = pipeline_get(p, STREAM_DONE, subject, 0, timeout_ms, on_own, f);
    if (err != AX_OK)
        free(f);
    return err;
}
