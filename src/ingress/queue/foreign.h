/* Queue messages that nobody would ever take: their subject names no task, or a pool that has no
 * entry and so no consumer. Each takes a place in its queue for good. They come from a publish by
 * hand, from a daemon that died between storing the first task of a pool and giving the pool its
 * entry, or from a task that came while its pool was removed.
 *
 * Every queue is looked at now and then: only when its first message is not young, and by the list
 * of its subjects. A pool that is not known is given an entry, as far as --max-pools and
 * --strict-pools allow. Everything else becomes a dead letter: the letter is stored, then the
 * message goes. Several instances of ingress may do so at the same time. Loop's lock held. */
#ifndef AX_INGRESS_QUEUE_FOREIGN_H
#define AX_INGRESS_QUEUE_FOREIGN_H

#include <stdbool.h>

#include "base/error.h"
#include "task/names.h"

struct foreign;
struct ingress;
struct queue;
struct stream_info;

/* ing->foreign is set. AX_E_NOMEM. */
ax_err foreign_start(struct ingress *ing);
/* The queue's stream was read: looks into it, if it is time. */
void foreign_look(struct queue *q, const struct stream_info *info);

/* True: a consumer of this pool delivers messages on this subject, "ax.queue.<priority>.<pool>.…",
 * so its dispatcher sees to them. False: no pool's consumer does. *is_task: it is exactly the
 * subject of a task. Pure. */
bool foreign_pool_of(const char *subject, char pool[NAME_MAX_CHARS + 1], bool *is_task);

#endif
