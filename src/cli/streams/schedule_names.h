/* Which recurring tasks there are: ingress knows, so that AX_LATER, which may hold a million
 * delayed tasks, need not be read for them. Blocking. */
#ifndef AX_CLI_STREAMS_SCHEDULE_NAMES_H
#define AX_CLI_STREAMS_SCHEDULE_NAMES_H

#include <jansson.h>
#include <nats/nats.h>

/* A new array of "pool.id", in no order; one that was removed a moment ago may be among them. NULL:
 * no ingress that is ready tells. nc: borrowed. */
json_t *schedule_names_read(natsConnection *nc);

#endif
