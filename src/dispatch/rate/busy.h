/* How busy a pool's workers are, judged from what the dispatcher sees: the part of the places that
 * workers have shown that is taken. A worker that asks for more tasks than it can run at a time
 * looks less busy than it is. Pure. */
#ifndef AX_DISPATCH_RATE_BUSY_H
#define AX_DISPATCH_RATE_BUSY_H

#include <stdint.h>

/* with_workers: un-acked tasks that workers have; open: tasks that waiting pull requests may still
 * be granted. 0 (idle) to 1 (nobody asks for more); -1: no worker is known. */
double busy_ratio(int64_t with_workers, int64_t open);

#endif
