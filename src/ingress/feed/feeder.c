#include "ingress/feed/feeder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/log.h"
#include "bus/ack.h"
#include "bus/provision/provisioner.h"
#include "bus/puller.h"
#include "bus/stream_info.h"
#include "ingress/feed/crowd.h"
#include "ingress/pools.h"
#include "ingress/queue/queue.h"

#define NAK_DELAY_MS 1000 /* as in feed.c */
#define WINDOW 256
/* Bodies held, and of a pull: 16 MiB at most are here of one source and priority, or three times
 * the server's largest message. */
#define HELD_MAX_BYTES (8LL << 20)
#define PULL_BYTES (4LL << 20)
#define CROWDED 192 /* messages held: pools that crowd the window give way */
#define ASIDE_FIRST_MS 10
#define ASIDE_MAX_MS 200
#define LEASE_NS 1500000000LL /* renewed this often; the consumer's ack_wait is 6 s */
#define ROOM_FIRST_MS 25
#define ROOM_MAX_MS 500
#define ASK_WAIT_MS 5000

/* Lists of messages, by state; each in order of arrival. */
enum { READY, FLYING, WAITING, ASIDE, LISTS };

/* How much the queue takes. */
struct room {
    bool full;     /* the queue refused: publish only what there is room for */
    int64_t tasks; /* while full: how many may go */
    bool asking;   /* for the room */
    bool progress; /* some of the last burst went in: ask for more room at once */
    int64_t delay_ms;
    struct loop_timer timer;
};

struct feeder {
    struct queue *queue;
    const char *source;
    struct puller *puller;
    bool running;
    struct feed *lists[LISTS];
    int held, publishing, in_flight;
    int64_t held_bytes;
    uint64_t arrived;
    struct room room;
    struct crowd *crowd;
    int64_t aside_ms; /* until those set aside have their turn again */
    bool fed_meanwhile, aside_soon;
    struct loop_timer tick, aside;
    struct metric *fed, *dropped, *refused;
    struct log_gate gate;
};

/* ---- which messages there are, and in which list */

static int by_number(const struct feed *a, const struct feed *b)
{
    return (a->number > b->number) - (a->number < b->number);
}

/* Most go last. */
static void insert(struct feed **list, struct feed *d)
{
    if (*list == NULL || (*list)->prev->number < d->number)
        DL_APPEND(*list, d);
    else
        DL_INSERT_INORDER(*list, d, by_number);
}

/* LISTS: none. */
static int list_of(enum feed_state state)
{
    if (state == FEED_NEW || state == FEED_ENDED)
        return LISTS;
    return state == FEED_READY     ? READY
           : state == FEED_WAITING ? WAITING
           : state == FEED_ASIDE   ? ASIDE
                                   : FLYING;
}

void feeder_moved(struct feeder *f, struct feed *d, enum feed_state from, enum feed_state to)
{
    int old = list_of(from), new = list_of(to);
    if (old == new)
        return;
    if (old != LISTS)
        DL_DELETE(f->lists[old], d);
    if (new != LISTS)
        insert(&f->lists[new], d);
    f->in_flight += (new == FLYING) - (old == FLYING);
}

static void want(struct feeder *f)
{
    bool has_room = f->held < WINDOW && f->held_bytes < HELD_MAX_BYTES;
    puller_want(f->puller, f->running && has_room ? WINDOW - f->held : 0);
}

void feeder_forgot(struct feeder *f, int64_t bytes)
{
    f->held--;
    f->held_bytes -= bytes;
    want(f);
}

/* ---- how much the queue takes */

static void on_room(void *arg, ax_err err, const struct stream_info *info)
{
    struct feeder *f = arg;
    struct room *r = &f->room;
    r->asking = false;
    if (err == AX_OK) {
        bool bytes_full = info->max_bytes > 0 &&
                          info->bytes * 100 >= (uint64_t)info->max_bytes * 99;
        r->tasks = info->max_msgs < 0 ? WINDOW : info->max_msgs - (int64_t)info->messages;
        if (bytes_full && r->tasks > 1)
            r->tasks = 1; /* how many more fit is not known: one at a time */
        r->full = r->tasks < 2 * WINDOW || bytes_full;
    }
    r->delay_ms = err == AX_OK && r->tasks > 0    ? ROOM_FIRST_MS
                  : r->delay_ms * 2 > ROOM_MAX_MS ? ROOM_MAX_MS
                                                  : r->delay_ms * 2;
    feeder_pump(f);
}

static void ask_room(void *arg)
{
    struct feeder *f = arg;
    struct ingress *ing = f->queue->ing;
    if (f->room.asking)
        return;
    f->room.asking = stream_info_get(ing->pipe, ing->loop, f->queue->p.stream, ASK_WAIT_MS, on_room,
                                     f) == AX_OK;
    if (!f->room.asking)
        loop_timer_start(ing->loop, &f->room.timer, ROOM_MAX_MS, ask_room, f);
}

/* Once nothing is under way any more that could tell. */
static void ask_room_if_full(struct feeder *f)
{
    struct room *r = &f->room;
    if (!f->running || !r->full || f->lists[READY] == NULL || f->publishing > 0 || r->asking ||
        loop_timer_is_running(&r->timer))
        return;
    if (r->progress)
        ask_room(f);
    else
        loop_timer_start(f->queue->ing->loop, &r->timer, r->delay_ms, ask_room, f);
    r->progress = false;
}

void feeder_answered(struct feeder *f, bool stored, bool full)
{
    struct room *r = &f->room;
    f->publishing--;
    if (stored) {
        metric_add(f->fed, 1);
        r->progress = true;
        f->fed_meanwhile = true;
    } else if (full) {
        metric_add(f->refused, 1);
        if (!r->full)
            r->delay_ms = ROOM_FIRST_MS;
        r->full = true;
        r->tasks = 0;
    }
}

void feeder_was_known(struct feeder *f)
{
    metric_add(f->dropped, 1);
}

/* ---- one pool beside others */

static void on_aside(void *arg);

/* A spill keeps the order of a pool that is alone. Firings are looked at whoever is here. */
static bool gives_way(const struct feeder *f)
{
    return strcmp(f->source, STREAM_LATER) == 0 || pools_count(f->queue->ing->pools) >= 2;
}

/* d may not go into the queue now. It may end here. */
static void hold_up(struct feeder *f, struct feed *d)
{
    int64_t now_ns = loop_now_ns(f->queue->ing->loop);
    crowd_held_up(d->crowd, now_ns);
    if (f->held >= CROWDED && gives_way(f) && crowd_is_too_large(d->crowd, now_ns))
        feed_event(d, FEED_CROWDED);
}

/* asking: the server's answer may give it one. */
static void no_place(struct feeder *f, struct feed *d, bool asking)
{
    feed_event(d, FEED_NO_PLACE);
    if (d->facts.state != FEED_ASIDE)
        return;
    if (asking && !f->aside_soon) {
        f->aside_soon = true;
        loop_timer_start(f->queue->ing->loop, &f->aside, ASIDE_FIRST_MS, on_aside, f);
    }
    hold_up(f, d);
}

/* A place for d, or not: then it is set aside, or ends. A firing is claimed without one. */
static void turn(struct feeder *f, struct feed *d)
{
    struct over_quota ignored;
    enum pool_share share = d->facts.unclaimed
                                ? POOL_SHARE_ROOM
                                : queue_room_take(f->queue, d->pool, &d->held, &ignored);
    if (share != POOL_SHARE_ROOM) {
        no_place(f, d, share == POOL_SHARE_UNREADY);
        return;
    }
    feed_event(d, FEED_TURN);
    if (d->facts.state == FEED_PUBLISHING) {
        f->publishing++;
        f->room.tasks--;
    } else if (d->held != NULL) {
        queue_room_settled(f->queue, d->held, false, 0);
        d->held = NULL;
    }
}

static void on_aside(void *arg)
{
    struct feeder *f = arg;
    struct feed *d, *next;
    f->aside_ms = f->fed_meanwhile                 ? ASIDE_FIRST_MS
                  : f->aside_ms * 2 > ASIDE_MAX_MS ? ASIDE_MAX_MS
                                                   : f->aside_ms * 2;
    f->fed_meanwhile = f->aside_soon = false;
    DL_FOREACH_SAFE(f->lists[ASIDE], d, next) {
        feed_event(d, FEED_DUE);
    }
    feeder_pump(f);
}

void feeder_set_aside(struct feeder *f)
{
    if (!loop_timer_is_running(&f->aside))
        loop_timer_start(f->queue->ing->loop, &f->aside, f->aside_ms, on_aside, f);
}

void feeder_entered(struct feeder *f, struct feed *d)
{
    d->crowd = crowd_enter(f->crowd, d->pool);
}

void feeder_leaves(struct feeder *f, struct feed *d)
{
    if (d->held != NULL)
        queue_room_settled(f->queue, d->held, false, 0);
    crowd_leave(d->crowd, d->fed);
}

int64_t feeder_return_ms(struct feeder *f, struct feed *d)
{
    return crowd_return_ms(d->crowd, loop_now_ns(f->queue->ing->loop));
}

/* When the pipeline is full the tick comes back. */
void feeder_pump(struct feeder *f)
{
    struct room *r = &f->room;
    struct pipeline *pipe = f->queue->ing->pipe;
    struct feed *d, *next;
    DL_FOREACH_SAFE(f->lists[READY], d, next) {
        if (!f->running || pipeline_room(pipe) <= 0)
            break;
        if (!r->full || r->tasks > 0)
            turn(f, d);
        else if (d->facts.unexamined)
            feed_event(d, FEED_NO_PLACE);
        else
            hold_up(f, d);
    }
    ask_room_if_full(f);
}

/* ---- time */

static void renew(struct feeder *f, int64_t now_ns)
{
    for (int i = 0; i < LISTS; i++) {
        struct feed *d;
        DL_FOREACH(f->lists[i], d) {
            if (now_ns - d->lease_ns < LEASE_NS)
                continue;
            wire_publish_text(f->queue->ing->wire, puller_ack_subject(d->msg), "+WPI");
            d->lease_ns = now_ns;
        }
    }
}

static void on_tick(void *arg)
{
    struct feeder *f = arg;
    struct feed *d, *next;
    int64_t now_ns = loop_now_ns(f->queue->ing->loop);
    DL_FOREACH_SAFE(f->lists[WAITING], d, next) {
        if (d->wait_until_ns <= now_ns)
            feed_event(d, FEED_DUE);
    }
    crowd_tick(f->crowd, now_ns);
    renew(f, now_ns);
    feeder_pump(f);
    if (f->held > 0)
        loop_timer_start(f->queue->ing->loop, &f->tick, CROWD_TICK_MS, on_tick, f);
}

bool feeder_may_log(struct feeder *f, unsigned long *more)
{
    return log_gate_open(&f->gate, loop_now_ns(f->queue->ing->loop), 1000000000LL, more);
}

/* ---- messages of the source */

static void on_message(void *arg, natsMsg *msg, const struct ack_subject *ack)
{
    struct feeder *f = arg;
    struct ingress *ing = f->queue->ing;
    (void)ack;
    if (!f->running) /* for a pull of ours that the server still had */
        ack_send_nak(ing->wire, puller_ack_subject(msg), NAK_DELAY_MS);
    struct feed *d = f->running ? feed_new(f, msg) : NULL;
    if (d == NULL) {
        natsMsg_Destroy(msg);
        return;
    }
    d->number = ++f->arrived;
    f->held++;
    f->held_bytes += natsMsg_GetDataLength(msg);
    want(f);
    if (!loop_timer_is_running(&f->tick))
        loop_timer_start(ing->loop, &f->tick, CROWD_TICK_MS, on_tick, f);
    feed_start(d);
    feeder_pump(f);
}

static void on_lost(void *arg)
{
    struct feeder *f = arg;
    provisioner_kick(f->queue->ing->provisioner);
}

/* ---- the feeder itself */

struct queue *feeder_queue(const struct feeder *f)
{
    return f->queue;
}

const char *feeder_source(const struct feeder *f)
{
    return f->source;
}

static struct metric *metric(const struct feeder *f, const char *name, const char *help)
{
    char labels[96];
    snprintf(labels, sizeof(labels), "priority=\"%s\",from=\"%s\"", f->queue->p.name,
             strcmp(f->source, STREAM_LATER) == 0 ? "later" : "spill");
    return metrics_get(METRIC_COUNTER, name, help, labels);
}

void feeder_consumer(const char *priority, char out[NAME_MAX_CHARS + 16])
{
    snprintf(out, NAME_MAX_CHARS + 16, "feeder-%s", priority);
}

ax_err feeder_new(struct feeder **out, struct queue *queue, const char *source)
{
    struct feeder *f = calloc(1, sizeof(*f));
    char consumer[NAME_MAX_CHARS + 16];
    if (f == NULL || (f->crowd = crowd_new()) == NULL) {
        free(f);
        return AX_E_NOMEM;
    }
    f->queue = queue;
    f->aside_ms = ASIDE_FIRST_MS;
    f->source = source;
    f->room.delay_ms = ROOM_FIRST_MS;
    feeder_consumer(queue->p.name, consumer);
    f->fed = metric(f, "ax_ingress_fed_total", "Tasks brought back into the queue");
    f->dropped = metric(f, "ax_ingress_fed_known_total",
                        "Tasks not brought back because the queue has them already");
    f->refused = metric(f, "ax_ingress_fed_full_total",
                        "Times a full queue refused a task that was to come back");
    struct puller_events events = {.message = on_message, .lost = on_lost, .arg = f};
    ax_err err = puller_new(&f->puller, queue->ing->wire, queue->ing->loop, source, consumer,
                            &events);
    if (err != AX_OK) {
        free(f->crowd);
        free(f);
        return err;
    }
    puller_bound(f->puller, PULL_BYTES);
    *out = f;
    return AX_OK;
}

/* Gives back what has not been started, so that another instance need not wait for the lease to
 * end. */
static void give_back(struct feeder *f, int list)
{
    struct feed *d, *next;
    DL_FOREACH_SAFE(f->lists[list], d, next) {
        feed_event(d, FEED_STOPPED);
    }
}

void feeder_run(struct feeder *f, bool run)
{
    f->running = run;
    if (!run) {
        give_back(f, READY);
        give_back(f, WAITING);
        give_back(f, ASIDE);
    }
    want(f);
}

void feeder_reconnected(struct feeder *f)
{
    puller_reconnected(f->puller);
}

int feeder_in_flight(const struct feeder *f)
{
    return f->in_flight;
}
