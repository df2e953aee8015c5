#include "base/thread.h"

#include <stddef.h>

ax_err thread_start(struct thread *t, void *(*work)(void *arg), void *arg)
{
    return pthread_create(&t->id, NULL, work, arg) == 0 ? AX_OK : AX_E_NOMEM;
}

void thread_join(struct thread *t)
{
    pthread_join(t->id, NULL);
}
