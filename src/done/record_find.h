/* What KV_AX_DONE says: learning of its records, and reading the one of a task wherever it is,
 * under its own subject or in a page. Loop lock. */
#ifndef AX_DONE_RECORD_FIND_H
#define AX_DONE_RECORD_FIND_H

#include <stdbool.h>

#include "bus/pipeline.h"
#include "done/batch_index.h"
#include "done/filter.h"
#include "done/record.h"

/* Takes in the ids of a page, stored at ns: those of keyed tasks in ix, those of keyless ones,
 * which nobody asks for by their key, in recent (NULL: nowhere). Not enough memory to know what is
 * done ends the process: a restart begins with what the server has. */
void record_learn_batch(struct batch_index *ix, struct batch_index *recent,
                        const struct record_batch_name *name, const struct record_batch *page,
                        int64_t ns);
/* The same of a keyless task that has a record of its own, so that recent says "maybe" to it,
 * too. */
void record_learn_keyless(struct batch_index *recent, const char *id);
/* Takes in a message of the bucket (borrowed) that was heard or read, stored at ns: the ids of
 * keyed tasks that it has a record of go into the filter, those of a page into the indexes, too. */
void record_learn(struct filter *f, struct batch_index *ix, struct batch_index *recent,
                  const char *subject, natsMsg *msg, int64_t ns);

/* AX_OK: r is the newest word about the task, seq the message it stands in. AX_E_NOT_FOUND: no
 * record, or it was deleted. AX_E_PROTOCOL with seq: what is there is no record. Else: no
 * answer. */
typedef void (*record_find_cb)(void *arg, ax_err err, const struct record *r, uint64_t seq);

/* ix must hold every page (or be NULL: only the task's own subject is read). On error cb is not
 * called. */
ax_err record_find(struct pipeline *p, const struct batch_index *ix, const char *id,
                   int64_t timeout_ms, record_find_cb cb, void *arg);

#endif
