/* Brings tasks from AX_LATER (due) or AX_SPILL back into the queue of their priority, oldest first
 * (docs/design/submitting.md). One feeder per priority and source, so that a full queue holds up
 * its own tasks only. All ingress instances share one durable consumer. Never freed (puller.h says
 * why). Lock of the loop held in every call. */
#ifndef AX_INGRESS_FEED_FEEDER_H
#define AX_INGRESS_FEED_FEEDER_H

#include <stdbool.h>

#include "base/error.h"
#include "ingress/feed/feed.h"
#include "task/names.h"

struct queue;
struct feeder;

/* source: STREAM_LATER or STREAM_SPILL (borrowed static). Asks for nothing until feeder_run. */
ax_err feeder_new(struct feeder **out, struct queue *queue, const char *source);
/* Takes messages, or lets what is under way finish and takes no more. */
void feeder_run(struct feeder *f, bool run);
void feeder_reconnected(struct feeder *f);
/* Publishes, looks and acks under way. */
int feeder_in_flight(const struct feeder *f);

/* "feeder-<priority>": name of the durable consumer. */
void feeder_consumer(const char *priority, char out[NAME_MAX_CHARS + 16]);

/* ---- for feed.c */

struct queue *feeder_queue(const struct feeder *f);
const char *feeder_source(const struct feeder *f);
/* d went from one state to another: it is in the list of its state, if that has one. */
void feeder_moved(struct feeder *f, struct feed *d, enum feed_state from, enum feed_state to);
/* The queue answered a publish: with PubAck (stored), or that it is full. */
void feeder_answered(struct feeder *f, bool stored, bool full);
/* d's task is in the queue already: counted. */
void feeder_was_known(struct feeder *f);
/* d's pool is known: it is in the window. */
void feeder_entered(struct feeder *f, struct feed *d);
/* d is about to end. */
void feeder_leaves(struct feeder *f, struct feed *d);
/* For how long d is given back. */
int64_t feeder_return_ms(struct feeder *f, struct feed *d);
/* A message was set aside: it has its turn again in a moment. */
void feeder_set_aside(struct feeder *f);
/* Room for one more message: one with a body of so many bytes has gone. */
void feeder_forgot(struct feeder *f, int64_t bytes);
/* Something has changed: publishes what can be published. */
void feeder_pump(struct feeder *f);
/* At most one line a second. */
bool feeder_may_log(struct feeder *f, unsigned long *more);

#endif
