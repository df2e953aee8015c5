#include "ingress/arrivals.h"

#include <stdlib.h>

#include "base/log.h"
#include "bus/loop.h"
#include "bus/pipeline.h"
#include "bus/stream_info.h"
#include "bus/wire.h"
#include "ingress/ingress.h"
#include "ingress/submit/submit.h"

#define WAYS 2
#define PIPELINE_SLOTS 16
#define OPEN_WAIT_MS 1000
#define AGAIN_MS 20

/* nats-server cuts off at 64 MB (max_pending) as it comes. */
#define FLOOD_BYTES (16LL << 20)
#define FLOOD_NS 100000000LL
/* Smaller ones the server holds back by itself: it stalls who sends faster than we read. */
#define FLOOD_SIZE_BYTES (32LL << 10)
/* Together with the former subscription less than half of max_pending, from where on it stalls. */
#define AHEAD_BYTES (12LL << 20)
#define AHEAD_ANY_BYTES (2LL << 20) /* on SUBMIT_ANY */
#define FORMER_NS 1000000000LL
#define SILENT_MS 20
#define TICK_MS 250
#define QUIET_BYTES (4LL << 20) /* in a tick */
#define QUIET_TICKS 12

/* One subject. */
struct way {
    struct arrivals *arrivals;
    const char *subject;
    int64_t ahead_bytes;  /* what the server may send ahead in a flood */
    struct wire_sub *sub; /* NULL: none yet */
    /* The one before, which is retired a while later: the server may be about to send a message of
     * it, of a producer that it stalls. NULL: none. */
    struct wire_sub *former;
    int64_t former_ns;
    struct loop_timer silent;
};

struct arrivals {
    struct ingress *ing;
    struct wire *wire;
    struct pipeline *pipe; /* for the question that shows that the server has the subscriptions */
    void (*opened)(struct ingress *ing);
    struct way ways[WAYS];
    bool asking, open, connected, limited, closing;
    int64_t window_ns, window_bytes, window_count; /* since when, and what has come since then */
    int64_t tick_bytes, largest_bytes;
    int quiet_ticks;
    uint64_t connections; /* of the other wire when this one was lost */
    struct loop_timer timer, tick;
    struct log_gate gate;
};

static void on_arrival(void *arg, natsMsg *msg);

/* ---- subscriptions */

static int64_t ahead(const struct way *w)
{
    int64_t largest = w->arrivals->largest_bytes;
    int64_t count = w->ahead_bytes / (largest > FLOOD_SIZE_BYTES ? largest : FLOOD_SIZE_BYTES);
    return count > 2 ? count : 2;
}

static void retire_former(struct way *w)
{
    if (w->former != NULL)
        wire_retire(w->arrivals->wire, w->former);
    w->former = NULL;
}

/* A new one, and later the former one goes: somebody listens all the time. */
static bool subscribe(struct way *w)
{
    struct arrivals *a = w->arrivals;
    struct wire_sub *former = w->sub;
    retire_former(w);
    ax_err err = wire_subscribe(a->wire, &w->sub, w->subject, INGRESS_QUEUE_GROUP, on_arrival, w);
    if (err != AX_OK) {
        log_error("cannot subscribe, trying again", "subject=%s error=\"%s\"", w->subject,
                  ax_err_text(err));
        return false;
    }
    wire_measure(a->wire, w->sub);
    if (a->limited)
        wire_limit(a->wire, w->sub, ahead(w));
    w->former = former;
    w->former_ns = loop_now_ns(a->ing->loop);
    return true;
}

/* The server may have reached the bound before it heard that it was raised. */
static void on_silent(void *arg)
{
    struct way *w = arg;
    if (w->arrivals->limited && !w->arrivals->closing && !subscribe(w))
        loop_timer_start(w->arrivals->ing->loop, &w->silent, SILENT_MS, on_silent, w);
}

static void raise_limit(struct way *w)
{
    struct arrivals *a = w->arrivals;
    wire_limit(a->wire, w->sub, ahead(w));
    loop_timer_start(a->ing->loop, &w->silent, SILENT_MS, on_silent, w);
}

/* ---- a flood */

static void limit(struct arrivals *a)
{
    a->quiet_ticks = 0;
    if (a->limited || a->closing)
        return;
    a->limited = true;
    metric_set(a->ing->counters.memory.flooded, 1);
    metric_add(a->ing->counters.memory.floods, 1);
    log_limited(&a->gate, loop_now_ns(a->ing->loop), LOG_WARN,
                "more submissions come than can be read, for now some are told that there are no "
                "responders",
                "largest_bytes=%lld", (long long)a->largest_bytes);
    for (int i = 0; i < WAYS; i++)
        raise_limit(&a->ways[i]);
}

static void end_limit(struct arrivals *a)
{
    a->limited = false;
    for (int i = 0; i < WAYS; i++)
        a->limited |= !subscribe(&a->ways[i]);
    if (a->limited) /* at the next tick */
        return;
    a->largest_bytes = 0;
    metric_set(a->ing->counters.memory.flooded, 0);
}

static void on_tick(void *arg)
{
    struct arrivals *a = arg;
    a->quiet_ticks = a->tick_bytes <= QUIET_BYTES ? a->quiet_ticks + 1 : 0;
    a->tick_bytes = 0;
    for (int i = 0; i < WAYS; i++) {
        if (loop_now_ns(a->ing->loop) - a->ways[i].former_ns >= FORMER_NS)
            retire_former(&a->ways[i]);
    }
    if (a->limited && a->quiet_ticks >= QUIET_TICKS && !a->closing)
        end_limit(a);
    loop_timer_start(a->ing->loop, &a->tick, TICK_MS, on_tick, a);
}

/* ---- messages */

static void count(struct arrivals *a, int64_t bytes)
{
    int64_t now_ns = loop_now_ns(a->ing->loop);
    if (now_ns - a->window_ns > FLOOD_NS) {
        a->window_ns = now_ns;
        a->window_bytes = a->window_count = 0;
    }
    a->window_bytes += bytes;
    a->window_count++;
    a->tick_bytes += bytes;
    if (bytes > a->largest_bytes)
        a->largest_bytes = bytes;
}

static void on_arrival(void *arg, natsMsg *msg)
{
    struct way *w = arg;
    struct arrivals *a = w->arrivals;
    int64_t bytes = wire_message_bytes(a->wire);
    count(a, bytes);
    submit_take(a->ing, msg, bytes);
    if (a->limited)
        raise_limit(w);
    else if (a->window_bytes >= FLOOD_BYTES &&
             a->window_bytes / a->window_count >= FLOOD_SIZE_BYTES)
        limit(a);
}

/* ---- opening */

static void try_open(void *arg);

/* A server handles what one connection sends in order: the subscriptions made before this question
 * exist, and whoever finds ingress ready finds it listening. */
static void on_server_answered(void *arg, ax_err err, const struct stream_info *info)
{
    struct arrivals *a = arg;
    (void)info;
    a->asking = false;
    if (a->closing || a->open)
        return;
    if (err == AX_E_TIMEOUT) {
        loop_timer_start(a->ing->loop, &a->timer, AGAIN_MS, try_open, a);
        return;
    }
    a->open = true;
    a->opened(a->ing);
}

static void try_open(void *arg)
{
    struct arrivals *a = arg;
    if (a->open || a->asking || a->closing)
        return;
    for (int i = 0; i < WAYS; i++) {
        if (a->ways[i].sub == NULL)
            subscribe(&a->ways[i]);
    }
    bool all = a->ways[0].sub != NULL && a->ways[1].sub != NULL;
    a->asking = all && stream_info_get(a->pipe, a->ing->loop, STREAM_POOLS, OPEN_WAIT_MS,
                                       on_server_answered, a) == AX_OK;
    if (!a->asking)
        loop_timer_start(a->ing->loop, &a->timer, AGAIN_MS, try_open, a);
}

void arrivals_open(struct arrivals *a, void (*opened)(struct ingress *ing))
{
    a->opened = opened;
    try_open(a);
}

bool arrivals_are_open(const struct arrivals *a)
{
    return a->open && a->connected;
}

/* ---- the connection */

static void on_disconnected(void *arg)
{
    struct arrivals *a = arg;
    loop_enter(a->ing->loop);
    a->connected = false;
    a->connections = wire_connections(a->ing->wire);
    loop_leave(a->ing->loop);
}

static void on_reconnected(void *arg)
{
    struct arrivals *a = arg;
    loop_enter(a->ing->loop);
    a->connected = true;
    /* This connection alone was cut off: the server had more for it than it took. */
    if (a->open && a->connections == wire_connections(a->ing->wire) && !wire_is_away(a->ing->wire))
        limit(a);
    for (int i = 0; i < WAYS && a->limited; i++) /* the server counts anew */
        on_silent(&a->ways[i]);
    loop_leave(a->ing->loop);
}

ax_err arrivals_connect(struct arrivals **out, struct ingress *ing, struct problem *p)
{
    static struct wire_events events = {.disconnected = on_disconnected,
                                        .reconnected = on_reconnected};
    const struct way ways[WAYS] = {
        {.subject = SUBMIT_ANY, .ahead_bytes = AHEAD_ANY_BYTES},
        {.subject = SUBMIT_PREFIX ">", .ahead_bytes = AHEAD_BYTES},
    };
    struct arrivals *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return problem_set(p, AX_E_NOMEM, "cannot connect: %s", ax_err_text(AX_E_NOMEM));
    a->ing = ing;
    a->connected = true;
    for (int i = 0; i < WAYS; i++) {
        a->ways[i] = ways[i];
        a->ways[i].arrivals = a;
    }
    events.arg = a;
    *out = a;
    return wire_open(&a->wire, ing->options, ing->loop, "ax-ingress arrivals", &events, p);
}

ax_err arrivals_start(struct arrivals *a)
{
    on_tick(a);
    return pipeline_new(&a->pipe, a->wire, a->ing->loop, PIPELINE_SLOTS);
}

/* ---- the end */

void arrivals_drain(struct arrivals *a, int64_t limit_ms)
{
    a->closing = true;
    a->open = false;
    for (int i = 0; i < WAYS; i++) {
        if (a->ways[i].sub != NULL)
            wire_drain(a->wire, a->ways[i].sub, limit_ms);
    }
}

/* Nothing that nats.c has taken off the socket for us and not handed over yet. */
bool arrivals_are_drained(const struct arrivals *a)
{
    for (int i = 0; i < WAYS; i++) {
        /* Without a connection the drain waits for a server that may never come back. */
        const struct way *w = &a->ways[i];
        if (w->sub != NULL && !wire_is_drained(a->wire, w->sub, a->connected))
            return false;
    }
    return true;
}
