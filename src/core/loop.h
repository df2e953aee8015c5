/* A daemon's loop: one epoll thread that does the sockets of nats.c (event-loop mode) and the timers, and one lock
 * under which everything that touches the daemon's state runs.
 *
 * Threads: nats.c hands messages to callbacks on its one delivery thread (connect_open sets that up); every such
 * callback brackets itself with loop_enter/loop_leave; timers run on the thread of loop_run with the lock held. So all
 * state of a daemon has exactly one owner at a time, and nothing else needs a lock.
 * In event-loop mode nats.c's publishes are flushed by the epoll thread as soon as the socket takes them: no 1 ms
 * flusher delay, and natural batching under load. */
#ifndef AX_CORE_LOOP_H
#define AX_CORE_LOOP_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/error.h"

struct loop;

/* Embed one where a timer is needed; zero-initialise. */
struct loop_timer {
    int64_t due_ns; /* monotonic */
    void (*fire)(void *arg);
    void *arg;
    int heap_index; /* 1-based; 0: not running */
};

/* clock: borrowed. */
ax_err loop_new(struct loop **out, struct clock *clock);
void loop_free(struct loop *l);

void loop_enter(struct loop *l);
void loop_leave(struct loop *l);

/* (Re)starts t to fire once after delay_ms (>= 0). Lock held. t must outlive its running. */
void loop_timer_start(struct loop *l, struct loop_timer *t, int64_t delay_ms, void (*fire)(void *), void *arg);
void loop_timer_start_ns(struct loop *l, struct loop_timer *t, int64_t delay_ns, void (*fire)(void *), void *arg);
void loop_timer_stop(struct loop *l, struct loop_timer *t);

/* Runs until loop_stop, SIGINT or SIGTERM (blocked and read through a signalfd by the caller's thread: call
 * loop_block_signals first thing in main, before any thread exists). Returns the signal, or 0 after loop_stop. */
void loop_block_signals(void);
int loop_run(struct loop *l);
void loop_stop(struct loop *l); /* any thread */

struct clock *loop_clock(struct loop *l);
static inline int64_t loop_now_ns(struct loop *l) { return clock_mono_ns(loop_clock(l)); }

/* For connect.c: nats.c event-loop callbacks. */
natsStatus loop_attach(void **user_data, void *loop, natsConnection *nc, natsSock socket);
natsStatus loop_read(void *user_data, bool add);
natsStatus loop_write(void *user_data, bool add);
natsStatus loop_detach(void *user_data);

#endif
