/* Taking over a pool (rule 8). Loop lock. */
#ifndef AX_DISPATCH_ATTEMPT_ADOPT_H
#define AX_DISPATCH_ATTEMPT_ADOPT_H

struct pool;

/* Reads AX_WORK for the pool, adopts what is there, sweeps what has lost its
 * queue message; then sets p->lead.adopted and pumps. */
void adopt_start(struct pool *p);
/* The same when it should have started and could not, for want of memory or of a free request. */
void adopt_retry(struct pool *p);
/* The same while it leads and nothing is under way: a server that went down between the ack of a
 * hand-off and its removal may have kept it. */
void adopt_sweep(struct pool *p);
void adopt_stop(struct pool *p);

#endif
