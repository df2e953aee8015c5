/* AX time (docs/design/time.md): the local monotonic clock plus an offset learnt from the server's
 * timestamps.
 *
 * The host's wall clock is never read for scheduling. Two readings:
 *   clock_mono_ns  intervals, deadlines and time-outs inside this process;
 *   clock_ax_ns    "what time is it", comparable with timestamps the server sets. Never runs
 *   backwards.
 * Tests replace the monotonic source with clock_init_fake. All functions: any thread (atomics
 * inside). */
#ifndef AX_BASE_CLOCK_H
#define AX_BASE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct clock {
    int64_t (*mono_ns)(void *arg); /* the source; a test's own if replaced */
    void *arg;
    /* AX time minus monotonic time; INT64_MIN while nothing was learnt */
    _Atomic int64_t offset_ns;
    _Atomic int64_t last_ax_ns;  /* highest AX time handed out: the floor of the next */
    _Atomic int64_t last_hlc_ns; /* last stamp of clock_stamp */
};

/* Real clock: CLOCK_BOOTTIME, so that a suspended host does not lose time. */
void clock_init(struct clock *c);

/* A clock that reads *now_ns (borrowed, must outlive the clock). For tests. */
void clock_init_fake(struct clock *c, int64_t *now_ns);

/* Nanoseconds since an arbitrary start; never runs backwards. */
int64_t clock_mono_ns(const struct clock *c);

/* The server stamped something with server_ns (Unix epoch) at some earlier moment, and we
 * received it now: raises the offset. A timestamp never lies in the future of the moment when it
 * is received, so the offset has to grow until this holds. It never falls here, since an old
 * message from a backlog looks just like a clock that was stepped back. While the server's clock
 * is known to have been stepped back, the stamp is ignored: a message stored before the step is
 * stamped later than now. */
void clock_learn(struct clock *c, int64_t server_ns);

/* The server stamped an answer ("ts" of stream or consumer info) to a request that we sent at
 * asked_ns (clock_mono_ns). The stamp was made between then and now, which bounds the offset
 * from both sides. This is the only way for the offset to fall, because of drift or because the
 * server's clock was stepped back. Call it every few seconds. */
void clock_learn_answer(struct clock *c, int64_t server_ns, int64_t asked_ns);

/* How far the server's clock lies behind the highest AX time handed out; 0: it does not. Some
 * milliseconds are jitter, and the clocks of a cluster's servers differ. Above
 * CLOCK_BEHIND_LIMIT_NS the server's clock was stepped back: AX time stands still, and delayed
 * submissions are refused until the server's clock has caught up. */
#define CLOCK_BEHIND_LIMIT_NS 500000000LL
int64_t clock_behind_ns(const struct clock *c);

/* The host's wall clock less AX time, for showing only; INT64_MIN while nothing was learnt. */
int64_t clock_host_ahead_ns(struct clock *c);

/* The server's clock less the monotonic one, as it is known now. It changes when the server's clock
 * was stepped. CLOCK_OFFSET_UNKNOWN while nothing was learnt. */
#define CLOCK_OFFSET_UNKNOWN INT64_MIN
int64_t clock_offset_ns(const struct clock *c);

/* True once something was learnt. */
bool clock_is_set(const struct clock *c);

/* AX time in nanoseconds since the Unix epoch; 0 while nothing was learnt. */
int64_t clock_ax_ns(struct clock *c);

/* A hybrid logical clock stamp for Ax-Submitted: AX time in ns, strictly increasing within the
 * process. */
int64_t clock_stamp(struct clock *c);

/* Merge a stamp seen from another process into the HLC, so that ours sort after it. Ignored while
 * nothing was learnt, and when it lies more than a minute ahead of AX time: anyone can write such a
 * header by hand. */
void clock_merge(struct clock *c, int64_t stamp_ns);

/* The source of a real clock, for those that keep no AX time: waits of a command, of a thread. */
int64_t clock_now_ns(void);
int64_t clock_now_ms(void);
/* The host's wall clock, Unix epoch: only for what a person reads, never to schedule by. */
int64_t clock_host_ns(void);

#endif
