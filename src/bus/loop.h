/* A daemon's loop: one epoll thread that does the sockets of nats.c (event-loop mode) and the
 * timers, and one lock under which everything that touches the daemon's state runs.
 *
 * The thread of loop_run reads the socket, calls the handlers of what came, fires the timers, and
 * writes what was published in one go before it sleeps. So writes are batched by what one read
 * brought, without a flusher's delay, and no message changes threads.
 *
 * One rule for the lock: whoever runs on another thread takes it, with loop_enter and loop_leave;
 * nobody else does. There are three such places: main (start and stop of the daemon, before and
 * after loop_run), nats.c's callbacks of the connection (wire_events), and HTTP. Handlers,
 * timers and callbacks are called with the lock held. Every function of bus, ingress and dispatch
 * is called with it held, unless its header says "any thread". */
#ifndef AX_BUS_LOOP_H
#define AX_BUS_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

struct loop;

/* Embed one where a timer is needed; zero-initialise. */
struct loop_timer {
    int64_t due_ns; /* monotonic */
    void (*fire)(void *arg);
    void *arg;
    int heap_index; /* loop.c's own: 1-based; 0: not running */
};

static inline bool loop_timer_is_running(const struct loop_timer *t)
{
    return t->heap_index != 0;
}

/* clock: borrowed. The loop lives as long as the process. AX_E_NOMEM, AX_E_IO. */
ax_err loop_new(struct loop **out, struct clock *clock);

/* The lock is recursive. */
void loop_enter(struct loop *l);
void loop_leave(struct loop *l);
/* loop_enter, for a thread that must not wait for a loop that stands still; false: not within
 * limit_ms. */
bool loop_enter_within(struct loop *l, int64_t limit_ms);

/* True: loop_run has been busy with one turn for some seconds, and why says for how long. Any
 * thread, without the lock. */
bool loop_stands_still(struct loop *l, char *why, size_t cap);

/* (Re)starts t to fire once after delay_ms (>= 0). Lock held. t must outlive its running. */
void loop_timer_start(struct loop *l, struct loop_timer *t, int64_t delay_ms, void (*fire)(void *),
                      void *arg);
void loop_timer_start_ns(struct loop *l, struct loop_timer *t, int64_t delay_ns,
                         void (*fire)(void *), void *arg);
void loop_timer_stop(struct loop *l, struct loop_timer *t);

/* Embed one where work is to be done once, after what is being handled now; zero-initialise. */
struct loop_later {
    void (*run)(void *arg);
    void *arg;
    struct loop_later *prev, *next;
    bool queued;
};

/* Runs `run` once on the loop's thread, after all messages of this read and all due timers have
 * been handled and before anything is written. Asking again before that changes nothing. Lock held.
 * x must outlive it. */
void loop_do_later(struct loop *l, struct loop_later *x, void (*run)(void *), void *arg);

/* Runs until loop_stop, SIGINT or SIGTERM (blocked and read through a signalfd by the caller's
 * thread: call loop_block_signals first thing in main, before any thread exists). Returns the
 * signal, or 0 after loop_stop. */
void loop_block_signals(void);
int loop_run(struct loop *l);
void loop_stop(struct loop *l); /* any thread */

/* Called with the lock held each time the loop wakes up, before any message is handled or timer
 * fired: the place to notice that time has passed (the process may have been stopped). Set before
 * loop_run. */
void loop_on_wake(struct loop *l, void (*wake)(void *arg), void *arg);

struct clock *loop_clock(struct loop *l);
static inline int64_t loop_now_ns(struct loop *l)
{
    return clock_mono_ns(loop_clock(l));
}

/* ---- for wire.c: a socket that the loop watches */

/* Embed one; zero-initialise, set the functions. All run on the loop's thread, without the lock.
 */
struct loop_source {
    void (*ready)(void *arg, uint32_t events); /* epoll's */
    void (*before_sleep)(void *arg);           /* writes what was published */
    bool (*has_much)(void *arg);               /* as much waits in the socket as one read takes */
    void *arg;
    uint32_t
        watched; /* epoll events asked for; 0: none, not in epoll. The owner's lock guards it */
    struct loop_source *next;
};

/* s: borrowed for the life of the loop. Any thread. */
void loop_add_source(struct loop *l, struct loop_source *s);
/* Brings epoll in line with the events wanted for s on fd. Without any the socket is taken out
 * altogether: EPOLLHUP is reported for it otherwise, and a connection that is down would spin the
 * loop. False: epoll refused. Any thread; the caller guards s. */
bool loop_watch(struct loop *l, struct loop_source *s, int fd, uint32_t events);
/* Has the loop come round soon, so that before_sleep is called. Any thread. */
void loop_wake(struct loop *l);
/* The caller is the thread of loop_run. */
bool loop_is_owner(const struct loop *l);
/* One more message was handed over: while there are many, the loop lets them gather. */
void loop_count_message(struct loop *l);

#endif
