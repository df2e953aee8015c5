/* Whether everything that `ax up` has started works: set by the main thread, read by the thread
 * that answers HTTP. */
#ifndef AX_CLI_UP_HEALTH_H
#define AX_CLI_UP_HEALTH_H

#include <pthread.h>
#include <stdbool.h>

struct health {
    pthread_mutex_t lock;
    bool ready;
    char why[256]; /* it is not ready; "" when it is */
};

/* Not ready, with this reason. */
void health_init(struct health *h, const char *why);
void health_set(struct health *h, bool ready, const char *why);
/* http.h's question: true when ready, else the reason goes into why (cap bytes). arg: a struct
 * health. Any thread. */
bool health_is_ready(void *arg, char *why, unsigned long cap);

#endif
