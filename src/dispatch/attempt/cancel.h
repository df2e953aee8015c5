/* Cancelling a task on request (ax.cancel.<pool>.<id>). Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_CANCEL_H
#define AX_DISPATCH_ATTEMPT_CANCEL_H

struct pool;

/* Removes the task wherever it is and answers on reply, an inbox (NULL: nobody asks). */
void cancel_start(struct pool *p, const char *id, const char *reply);
/* The queue has sent a message of this id. */
void cancel_saw(struct pool *p, const char *id);

#endif
