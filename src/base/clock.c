#include "base/clock.h"

#include <stddef.h>
#include <time.h>

#include "base/saturate.h"

#define NS_PER_S 1000000000LL
#define UNSET CLOCK_OFFSET_UNKNOWN
#define MERGE_AHEAD_NS (60 * NS_PER_S)

/* The offset is one number between two bounds. Every server timestamp is a lower bound: it was
 * made before we saw it. The answer to a request is an upper bound as well: it was made after we
 * asked. So the offset grows by the first and falls by the second. Nobody has to guess whether a
 * message is old or a clock was set back. */

static int64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_ns(CLOCK_BOOTTIME);
}

int64_t clock_now_ms(void)
{
    return clock_now_ns() / 1000000;
}

int64_t clock_host_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

static int64_t real_ns(void *arg)
{
    (void)arg;
    return clock_now_ns();
}

static int64_t fake_ns(void *arg)
{
    return *(const int64_t *)arg;
}

static void start(struct clock *c, int64_t (*source)(void *), void *arg)
{
    c->mono_ns = source;
    c->arg = arg;
    atomic_init(&c->offset_ns, UNSET);
    atomic_init(&c->last_ax_ns, 0);
    atomic_init(&c->last_hlc_ns, 0);
}

/* Raises *a to at least v; returns what it then holds. */
static int64_t raise_to(_Atomic int64_t *a, int64_t v)
{
    int64_t have = atomic_load(a);
    while (have < v && !atomic_compare_exchange_weak(a, &have, v)) {
    }
    return have < v ? v : have;
}

/* The server's clock as we know it now; false while nothing was learnt. */
static bool server_now(const struct clock *c, int64_t *out_ns)
{
    int64_t offset = atomic_load(&c->offset_ns);
    return offset != UNSET && !__builtin_add_overflow(clock_mono_ns(c), offset, out_ns);
}

void clock_init(struct clock *c)
{
    start(c, real_ns, NULL);
}

void clock_init_fake(struct clock *c, int64_t *now_ns)
{
    start(c, fake_ns, now_ns);
}

int64_t clock_mono_ns(const struct clock *c)
{
    return c->mono_ns(c->arg);
}

void clock_learn(struct clock *c, int64_t server_ns)
{
    int64_t lower;
    if (server_ns <= 0 || __builtin_sub_overflow(server_ns, clock_mono_ns(c), &lower))
        return;
    /* The clock was set back: messages from before that are stamped in the future, so only
     * answers count. */
    if (clock_behind_ns(c) > CLOCK_BEHIND_LIMIT_NS)
        return;
    raise_to(&c->offset_ns, lower);
}

void clock_learn_answer(struct clock *c, int64_t server_ns, int64_t asked_ns)
{
    int64_t now = clock_mono_ns(c), lower, upper;
    if (server_ns <= 0 || asked_ns > now || __builtin_sub_overflow(server_ns, now, &lower) ||
        __builtin_sub_overflow(server_ns, asked_ns, &upper)) {
        return;
    }
    int64_t have = atomic_load(&c->offset_ns), want;
    do {
        want = have < lower ? lower : have > upper ? upper : have;
    } while (want != have && !atomic_compare_exchange_weak(&c->offset_ns, &have, want));
}

int64_t clock_behind_ns(const struct clock *c)
{
    int64_t now;
    if (!server_now(c, &now))
        return 0;
    int64_t behind = saturate_sub(atomic_load(&c->last_ax_ns), now);
    return behind > 0 ? behind : 0;
}

int64_t clock_host_ahead_ns(struct clock *c)
{
    struct timespec t;
    if (!clock_is_set(c))
        return INT64_MIN;
    clock_gettime(CLOCK_REALTIME, &t);
    return saturate_sub(t.tv_sec * NS_PER_S + t.tv_nsec, clock_ax_ns(c));
}

int64_t clock_offset_ns(const struct clock *c)
{
    return atomic_load(&c->offset_ns);
}

bool clock_is_set(const struct clock *c)
{
    return atomic_load(&c->offset_ns) != UNSET;
}

int64_t clock_ax_ns(struct clock *c)
{
    int64_t now;
    return server_now(c, &now) ? raise_to(&c->last_ax_ns, now) : 0;
}

int64_t clock_stamp(struct clock *c)
{
    int64_t now = clock_ax_ns(c), last = atomic_load(&c->last_hlc_ns), stamp;
    do {
        stamp = now > last ? now : last + 1;
    } while (!atomic_compare_exchange_weak(&c->last_hlc_ns, &last, stamp));
    return stamp;
}

void clock_merge(struct clock *c, int64_t stamp_ns)
{
    int64_t now = clock_ax_ns(c);
    if (now > 0 && stamp_ns > 0 && saturate_sub(stamp_ns, now) <= MERGE_AHEAD_NS)
        raise_to(&c->last_hlc_ns, stamp_ns);
}
