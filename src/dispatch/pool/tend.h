/* Tending a pool that is led: leases are renewed, expired ones are waited for and verified, and
 * what is counted once a second is counted. Loop's lock held. */
#ifndef AX_DISPATCH_POOL_TEND_H
#define AX_DISPATCH_POOL_TEND_H

struct pool;

/* Once a second. */
void tend_pool(struct pool *p);

#endif
