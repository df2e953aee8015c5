/* Writing idempotency records (core/record.h) into KV_AX_DONE, by appending only. Loop lock. */
#ifndef AX_DISPATCH_RECORDS_H
#define AX_DISPATCH_RECORDS_H

#include "core/pipeline.h"
#include "core/record.h"

struct pool;

/* Publishes the record of task id and calls cb with the server's word; never gives up, repeats are harmless. fence: the
 * hand-off's sequence, 0 if there was none. On error cb is not called. */
ax_err records_write(struct pool *p, enum record_state state, const char *id, uint32_t attempt, uint64_t fence, pipeline_cb cb,
                     void *arg);

#endif
