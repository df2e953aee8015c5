/* Writing idempotency records (done/record.h) into KV_AX_DONE, by appending only. Loop lock.
 *
 * A finished task's record is written at once while none of its pool is on the way. While one is
 * (that is load), those that finish meanwhile are gathered, and go together as a record batch when
 * it is answered. */
#ifndef AX_DISPATCH_ATTEMPT_RECORD_WRITER_H
#define AX_DISPATCH_ATTEMPT_RECORD_WRITER_H

#include "bus/pipeline.h"
#include "done/record_batch.h"

struct dispatch;
struct pool;

/* Publishes the record of task id and calls cb with the server's word; never gives up, repeats are
 * harmless. what (borrowed for the call): state, attempt, submitted, and fence, the hand-off's
 * sequence, 0 if there was none; pool and time are set here. On error cb is not called. */
ax_err record_writer_write(struct pool *p, const char *id, const struct record *what,
                           pipeline_cb cb, void *arg);
/* The same for a task that a worker finished, whatever the state says, gathered with others. cb may
 * be told of an error later on. */
ax_err record_writer_write_done(struct pool *p, const char *id, const struct record *what,
                                pipeline_cb cb, void *arg);
/* Writes what is gathered now: the pool is led by us no more. What a worker finished is true
 * whoever leads. */
void record_writer_flush(struct pool *p);
/* True: this dispatcher wrote the batch, and has it in its index. */
bool record_writer_has_batch(const struct dispatch *d, const struct record_batch_name *name);

#endif
