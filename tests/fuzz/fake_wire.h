/* For a fuzz target that drives a whole daemon: an implementation of bus/wire.h and bus/loop.h
 * without sockets and threads, and a little server that answers what a daemon asks of JetStream.
 * CMake links it in place of bus/wire.c, loop.c and connect.c into each target that includes this
 * header. The target makes time pass, says what is heard, and sees what is published. */
#ifndef AX_FUZZ_FAKE_WIRE_H
#define AX_FUZZ_FAKE_WIRE_H

#include <nats/nats.h>
#include <stddef.h>
#include <stdint.h>

#include "bus/wire.h"

#define FAKE_SERVER_NS 1700000000000000000LL /* the server's clock less the monotonic one */

extern bool fake_is_full;   /* queues take no message now */
extern int64_t fake_now_ns; /* monotonic; the clock reads it: clock_init_fake */

/* Called for every publish with what it says; may be NULL. */
extern void (*fake_on_publish)(const char *subject, const char *reply, const void *data,
                               size_t bytes);
/* Answers a request for a stored message: false: there is none. May be NULL: there never is one. */
extern bool (*fake_stored)(const char *stream, uint64_t seq, char subject[160], int64_t *time_ns);

/* This stream holds this one message; all borrowed for good. Other streams seem to be empty. */
void fake_keep(const char *stream, const char *subject, const char *data);
/* What has been subscribed: the subject of subscription i; NULL: there are no more. */
const char *fake_subscription(size_t i);
/* A message comes on every subscription that its subject, or `inbox` (NULL: none), matches. data:
 * copied. headers: "Name=value Name=value", or "". */
void fake_deliver(const char *subject, const char *inbox, const char *reply, const void *data,
                  size_t bytes);
void fake_deliver_with(const char *headers, const char *subject, const char *reply,
                       const void *data, size_t bytes);
/* The newest pull request of this consumer that a daemon has made: its reply subject, or NULL. */
const char *fake_pull_of(const char *consumer);
/* The last sequence of a stream, and the next one. */
uint64_t fake_last_seq(const char *stream);
uint64_t fake_next_seq(const char *stream);
/* All answers are given and all work is done, until there is no more of either. */
void fake_settle(void);
/* Time passes, timers fire. */
void fake_pass(int64_t ns);

#endif
