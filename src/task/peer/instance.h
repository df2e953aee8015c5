/* Names of processes: dispatchers, ingresses, workers. */
#ifndef AX_TASK_PEER_INSTANCE_H
#define AX_TASK_PEER_INSTANCE_H

#include <stdbool.h>

#define INSTANCE_MAX_CHARS 64

/* [A-Za-z0-9_-]{1,64}. */
bool instance_is_valid(const char *name);
/* A name for this process, as good as unique: "<host>-<pid>-<random>". Any thread. */
void instance_new(char out[INSTANCE_MAX_CHARS + 1]);

#endif
