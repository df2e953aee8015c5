/* Reading the newest record of a task, wherever it is: under its own subject, or in a batch. The
 * loop's lock is held in every call and in the callback. */
#ifndef AX_DONE_RECORD_FIND_H
#define AX_DONE_RECORD_FIND_H

#include "bus/pipeline_get.h"
#include "done/batch_index.h"

/* AX_OK: *r (borrowed for the call) is the newest record of the task, seq the sequence of the
 * message that holds it. AX_E_NOT_FOUND: it has none, or it was deleted. AX_E_PROTOCOL with a seq
 * above 0: it has none, and the message with that sequence, where one might be, cannot be read;
 * that counts as no record, and the caller says it. Else there was no answer, and nothing is
 * known. */
typedef void (*record_find_cb)(void *arg, ax_err err, const struct record *r, uint64_t seq);

/* Reads the task's own subject, then the batches that ix names, each for at most timeout_ms. ix
 * must know every batch of the bucket; NULL: only the own subject is read. ix is borrowed for the
 * call. On error (AX_E_NOMEM, or an error of pipeline_get) cb is not called; else once. */
ax_err record_find(struct pipeline *p, const struct batch_index *ix, const char *id,
                   int64_t timeout_ms, record_find_cb cb, void *arg);

#endif
