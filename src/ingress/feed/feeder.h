/* Brings tasks from AX_LATER (due) or AX_SPILL back into the queue of their priority, oldest first
 * (docs/design/submitting.md). One per priority and source, so that a full queue holds up its own
 * tasks only. Shared by all ingress instances through one durable consumer. Never freed (puller.h
 * says why). Lock held in every call. */
#ifndef AX_INGRESS_FEED_FEEDER_H
#define AX_INGRESS_FEED_FEEDER_H

#include <stdbool.h>

#include "base/error.h"
#include "task/names.h"

struct queue;
struct feeder;

/* source: STREAM_LATER or STREAM_SPILL (borrowed static). Asks for nothing until feeder_run. */
ax_err feeder_new(struct feeder **out, struct queue *queue, const char *source);
/* Takes messages, or lets what it holds finish and takes no more. */
void feeder_run(struct feeder *f, bool run);
void feeder_reconnected(struct feeder *f);
/* Publishes and acks under way. */
int feeder_in_flight(const struct feeder *f);

/* "feeder-<priority>": name of the durable consumer. */
void feeder_consumer(const char *priority, char out[NAME_MAX_CHARS + 16]);

#endif
