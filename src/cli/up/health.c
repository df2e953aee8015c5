#include "cli/up/health.h"

#include <stdio.h>

void health_init(struct health *h, const char *why)
{
    *h = (struct health){0};
    pthread_mutex_init(&h->lock, NULL);
    health_set(h, false, why);
}

void health_set(struct health *h, bool ready, const char *why)
{
    pthread_mutex_lock(&h->lock);
    h->ready = ready;
    snprintf(h->why, sizeof(h->why), "%s", why);
    pthread_mutex_unlock(&h->lock);
}

bool health_is_ready(void *arg, char *why, unsigned long cap)
{
    struct health *h = arg;
    pthread_mutex_lock(&h->lock);
    bool ready = h->ready;
    snprintf(why, cap, "%s", h->why);
    pthread_mutex_unlock(&h->lock);
    return ready;
}
