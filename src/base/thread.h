/* A thread of our own. The daemons have one, for HTTP; all else is done by the loop. */
#ifndef AX_BASE_THREAD_H
#define AX_BASE_THREAD_H

#include <pthread.h>

#include "base/error.h"

struct thread {
    pthread_t id;
};

/* Calls work(arg) on a new thread, which has the caller's signal mask. arg is borrowed until
 * thread_join. AX_E_NOMEM: the kernel gives no thread. */
ax_err thread_start(struct thread *t, void *(*work)(void *arg), void *arg);
/* Waits until work has returned. Once for each thread_start that did not fail. */
void thread_join(struct thread *t);

#endif
