/* Taking in what the bucket KV_AX_DONE says: messages that were heard or read go into the filter
 * and the indexes that this process asks later. The loop's lock is held in every call. Without
 * memory for an index the process ends: it would run again what is done, and a restart begins with
 * what the server has. */
#ifndef AX_DONE_RECORD_LEARN_H
#define AX_DONE_RECORD_LEARN_H

#include <nats/nats.h>

#include "done/batch_index.h"
#include "done/filter.h"

/* Takes in a message of the bucket (borrowed), stored at ns (Unix epoch). Ids of keyed tasks go
 * into f, those of a batch into ix as well. Ids of keyless tasks, which no submission asks for, go
 * into recent; NULL: nowhere. AX_E_PROTOCOL: a batch that cannot be read, which is left out; the
 * caller says it. Else AX_OK. */
ax_err record_learn(struct filter *f, struct batch_index *ix, struct batch_index *recent,
                    const char *subject, natsMsg *msg, int64_t ns);
/* Takes the ids of a batch into ix and recent, as record_learn does. */
void record_learn_batch(struct batch_index *ix, struct batch_index *recent,
                        const struct record_batch_name *name, const struct record_batch *batch,
                        int64_t ns);
/* Takes in a keyless task that has a record of its own. */
void record_learn_keyless(struct batch_index *recent, const char *id);

#endif
