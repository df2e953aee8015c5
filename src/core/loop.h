/* A daemon's loop: one epoll thread that does the sockets of nats.c (event-loop mode) and the
 * timers, and one lock under which everything that touches the daemon's state runs.
 *
 * Threads: the thread of loop_run does everything: it reads the socket, calls the handlers of what
 * came (subscriptions made with loop_subscribe), fires the timers, and writes what was published in
 * one go before it sleeps; the lock is held in handlers and timers. Other threads (a daemon's
 * keeper, nats.c's reconnect callbacks, HTTP) bracket what they do with loop_enter/loop_leave. So
 * the state of a daemon has one owner at a time and needs no other lock, no message changes
 * threads, and writes are batched by what one read brought, without a flusher's delay. */
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

/* The lock is recursive. */
void loop_enter(struct loop *l);
void loop_leave(struct loop *l);

/* Subscribes for the life of the loop (destroyed by loop_free; nats.c 3.4 crashes on a message for
 * a destroyed subscription). queue NULL: no queue group. handler runs on the loop's thread with the
 * lock held and destroys the message. When several subscriptions have messages, those subscribed
 * first are served first. out may be NULL (borrowed). Any thread. AX_E_NOMEM, AX_E_DISCONNECTED. */
ax_err loop_subscribe(struct loop *l, natsSubscription **out, natsConnection *nc,
                      const char *subject, const char *queue, natsMsgHandler handler,
                      void *closure);

/* Messages "no responders" (status 503, no body) never get to a handler: nats.c 3.4 destroys them
 * and says so in place of the next message, not which question it was about. told: called for each,
 * as the handler is. Any thread. */
void loop_on_no_responders(struct loop *l, const natsSubscription *sub,
                           void (*told)(void *closure));

/* (Re)starts t to fire once after delay_ms (>= 0). Lock held. t must outlive its running. */
void loop_timer_start(struct loop *l, struct loop_timer *t, int64_t delay_ms, void (*fire)(void *),
                      void *arg);
void loop_timer_start_ns(struct loop *l, struct loop_timer *t, int64_t delay_ns,
                         void (*fire)(void *), void *arg);
void loop_timer_stop(struct loop *l, struct loop_timer *t);

/* Embed one where work is to be done once after whatever is happening now; zero-initialise. */
struct loop_later {
    void (*run)(void *arg);
    void *arg;
    struct loop_later *next;
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

/* For connect.c: nats.c event-loop callbacks. */
natsStatus loop_attach(void **user_data, void *loop, natsConnection *nc, natsSock socket);
natsStatus loop_read(void *user_data, bool add);
natsStatus loop_write(void *user_data, bool add);
natsStatus loop_detach(void *user_data);

#endif
