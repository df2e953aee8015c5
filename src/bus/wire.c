#include "bus/wire.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <utlist.h>

#include "base/saturate.h"
#include "bus/connect.h"
#include "bus/connection/recover.h"

#define MUCH_BYTES (128 << 10)
#define RETIRE_MS 10000

struct wire_sub {
    natsSubscription *sub;
    wire_handler handler;
    void *arg;
    void (*no_responders)(void *arg); /* may be NULL */
    bool measured, retired;
    int64_t count, most; /* messages handled, and those that the server may send in all */
    struct wire_sub *prev, *next;
};

struct wire {
    natsConnection *nc;
    struct loop *loop;
    struct wire_sub *subs; /* in the order in which they are served */
    pthread_mutex_t lock;  /* guards the rest against attach and detach from nats.c's threads */
    struct loop_source source;
    int fd;                 /* -1: none */
    atomic_bool want_write; /* nats.c has something in its buffer */
    atomic_uint_fast64_t connections;
    int64_t message_bytes; /* of the one that is being handled */
};

/* ---- the socket of nats.c, in the loop's epoll ---- */

static natsStatus change(struct wire *w, uint32_t bit, bool add)
{
    pthread_mutex_lock(&w->lock);
    uint32_t events = add ? w->source.watched | bit : w->source.watched & ~bit;
    bool ok = w->fd < 0 || loop_watch(w->loop, &w->source, w->fd, events);
    pthread_mutex_unlock(&w->lock);
    return ok ? NATS_OK : NATS_IO_ERROR;
}

static natsStatus on_attach(void **user_data, void *wire, natsConnection *nc, natsSock fd)
{
    struct wire *w = wire;
    pthread_mutex_lock(&w->lock);
    if (*user_data == NULL) { /* of nats.c's; each of its threads that reconnects reads it */
        w->nc = nc;
        *user_data = w;
    }
    atomic_fetch_add(&w->connections, 1);
    w->fd = fd; /* nats.c has closed a former one, which took that out of epoll */
    w->source.watched = 0;
    atomic_store(&w->want_write, false);
    bool ok = loop_watch(w->loop, &w->source, fd, EPOLLIN);
    pthread_mutex_unlock(&w->lock);
    return ok ? NATS_OK : NATS_IO_ERROR;
}

static natsStatus on_want_read(void *wire, bool add)
{
    return change(wire, EPOLLIN, add);
}

static natsStatus on_want_write(void *wire, bool add)
{
    struct wire *w = wire;
    atomic_store(&w->want_write, add);
    if (add && !loop_is_owner(w->loop))
        loop_wake(w->loop); /* the loop's own thread flushes before it sleeps */
    return NATS_OK;
}

static natsStatus on_detach(void *wire)
{
    struct wire *w = wire;
    pthread_mutex_lock(&w->lock);
    if (w->fd >= 0)
        loop_watch(w->loop, &w->source, w->fd, 0);
    w->fd = -1;
    pthread_mutex_unlock(&w->lock);
    return NATS_OK;
}

/* Writes what was published. What the socket does not take goes when epoll says so. */
static void flush(void *arg)
{
    struct wire *w = arg;
    if (!atomic_load(&w->want_write))
        return;
    natsConnection_ProcessWriteEvent(w->nc);
    change(w, EPOLLOUT, atomic_load(&w->want_write));
}

/* Large messages: letting more of them gather would only make the server wait. */
static bool has_much(void *arg)
{
    struct wire *w = arg;
    int bytes = 0;
    pthread_mutex_lock(&w->lock);
    bool much = w->fd >= 0 && ioctl(w->fd, FIONREAD, &bytes) == 0 && bytes >= MUCH_BYTES;
    pthread_mutex_unlock(&w->lock);
    return much;
}

/* ---- messages ---- */

/* nats.c keeps the size of all that waits, headers included, and does not tell that of one. */
static int64_t waiting_bytes(const struct wire_sub *s)
{
    int bytes = 0;
    if (s->measured)
        natsSubscription_GetPending(s->sub, NULL, &bytes);
    return bytes;
}

static void tell_most(const struct wire_sub *s)
{
    natsSubscription_AutoUnsubscribe(s->sub, (int)saturate_clamp(s->most, 1, INT_MAX));
}

/* nats.c drops what comes after as many as it was told, and the server may have sent more before it
 * heard of the bound: nats.c is never at the end. */
static void count_message(struct wire_sub *s)
{
    s->count++;
    if (s->most == 0 || s->count < s->most - 1)
        return;
    s->most = s->count + 2;
    tell_most(s);
}

static void deliver(struct wire *w, struct wire_sub *s)
{
    natsMsg *msg;
    natsStatus next = NATS_OK;
    while (next == NATS_OK || next == NATS_NO_RESPONDERS) {
        int64_t waiting = waiting_bytes(s);
        next = natsSubscription_NextMsg(&msg, s->sub, 0);
        if (next == NATS_OK) {
            w->message_bytes = waiting - waiting_bytes(s);
            count_message(s);
            loop_count_message(w->loop);
            s->handler(s->arg, msg);
        } else if (next == NATS_NO_RESPONDERS && s->no_responders != NULL) {
            s->no_responders(s->arg);
        }
    }
}

static void end_retired(struct wire *w)
{
    struct wire_sub *s, *next;
    DL_FOREACH_SAFE(w->subs, s, next) {
        if (!s->retired || !wire_is_drained(w, s, true))
            continue;
        DL_DELETE(w->subs, s);
        natsSubscription_Destroy(s->sub);
        free(s);
    }
}

/* Hands over what one read brought. A handler may subscribe and may publish. */
static void on_ready(void *arg, uint32_t events)
{
    struct wire *w = arg;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0)
        return;
    natsConnection_ProcessReadEvent(w->nc);
    loop_enter(w->loop);
    struct wire_sub *s;
    DL_FOREACH(w->subs, s)
        deliver(w, s);
    end_retired(w);
    loop_leave(w->loop);
}

static ax_err subscribe(struct wire *w, struct wire_sub *s, const char *subject, const char *group)
{
    natsStatus st = group != NULL
                        ? natsConnection_QueueSubscribeSync(&s->sub, w->nc, subject, group)
                        : natsConnection_SubscribeSync(&s->sub, w->nc, subject);
    if (st == NATS_OK) /* bounded by what AX asks for, not by dropping */
        st = natsSubscription_SetPendingLimits(s->sub, -1, -1);
    if (st == NATS_OK)
        return AX_OK;
    natsSubscription_Destroy(s->sub);
    return st == NATS_NO_MEMORY ? AX_E_NOMEM : AX_E_DISCONNECTED;
}

ax_err wire_subscribe(struct wire *w, struct wire_sub **out, const char *subject, const char *group,
                      wire_handler handler, void *arg)
{
    struct wire_sub *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return AX_E_NOMEM;
    s->handler = handler;
    s->arg = arg;
    ax_err err = subscribe(w, s, subject, group);
    if (err != AX_OK) {
        free(s);
        return err;
    }
    DL_APPEND(w->subs, s);
    if (out != NULL)
        *out = s;
    return AX_OK;
}

void wire_limit(struct wire *w, struct wire_sub *sub, int64_t ahead)
{
    (void)w;
    if (sub->most - sub->count > ahead / 2)
        return;
    sub->most = sub->count + (ahead > 2 ? ahead : 2);
    tell_most(sub);
}

void wire_retire(struct wire *w, struct wire_sub *sub)
{
    wire_drain(w, sub, RETIRE_MS);
    sub->retired = true;
}

void wire_measure(struct wire *w, struct wire_sub *sub)
{
    (void)w;
    sub->measured = true;
}

int64_t wire_message_bytes(const struct wire *w)
{
    return w->message_bytes;
}

void wire_serve_first(struct wire *w, struct wire_sub *sub)
{
    DL_DELETE(w->subs, sub);
    DL_PREPEND(w->subs, sub);
}

void wire_on_no_responders(struct wire *w, struct wire_sub *sub, void (*handler)(void *arg))
{
    (void)w;
    sub->no_responders = handler;
}

/* ---- life ---- */

ax_err wire_open(struct wire **out, const struct options *o, struct loop *l, const char *name,
                 const struct wire_events *events, struct problem *p)
{
    struct wire *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return problem_set(p, AX_E_NOMEM, "cannot connect: %s", ax_err_text(AX_E_NOMEM));
    w->loop = l;
    w->fd = -1;
    pthread_mutex_init(&w->lock, NULL);
    w->source = (struct loop_source){
        .ready = on_ready, .before_sleep = flush, .has_much = has_much, .arg = w};
    const struct connect_loop hooks = {w, on_attach, on_want_read, on_want_write, on_detach};
    *out = w;
    ax_err err = connect_open(&w->nc, o, &hooks, name, events, p);
    if (err == AX_OK)
        loop_add_source(l, &w->source);
    return err;
}

void wire_close(struct wire *w)
{
    recover_end();
    natsConnection_Close(w->nc);
}

struct loop *wire_loop(const struct wire *w)
{
    return w->loop;
}

void wire_drain(struct wire *w, struct wire_sub *sub, int64_t limit_ms)
{
    (void)w;
    natsSubscription_DrainTimeout(sub->sub, limit_ms);
}

bool wire_is_drained(struct wire *w, struct wire_sub *sub, bool connected)
{
    (void)w;
    natsSubscription *s = sub->sub;
    int messages = 0;
    if (natsSubscription_DrainCompletionStatus(s) != NATS_ILLEGAL_STATE)
        return true;
    return !connected && natsSubscription_GetPending(s, &messages, NULL) == NATS_OK &&
           messages == 0;
}

ax_err wire_publish(struct wire *w, const char *subject, const void *data, size_t bytes)
{
    return connect_error(natsConnection_Publish(w->nc, subject, data, (int)bytes));
}

ax_err wire_publish_text(struct wire *w, const char *subject, const char *text)
{
    return wire_publish(w, subject, text, strlen(text));
}

ax_err wire_publish_msg(struct wire *w, natsMsg *msg)
{
    return connect_error(natsConnection_PublishMsg(w->nc, msg));
}

ax_err wire_request(struct wire *w, const char *subject, const char *reply, const void *data,
                    size_t bytes)
{
    return connect_error(natsConnection_PublishRequest(w->nc, subject, reply, data, (int)bytes));
}

bool wire_is_away(const struct wire *w)
{
    return natsConnection_IsReconnecting(w->nc);
}

uint64_t wire_connections(const struct wire *w)
{
    return atomic_load(&((struct wire *)(uintptr_t)w)->connections);
}

bool wire_is_flushed(const struct wire *w)
{
    return natsConnection_Buffered(w->nc) <= 0;
}

int64_t wire_max_payload(const struct wire *w)
{
    return natsConnection_GetMaxPayload(w->nc);
}

void wire_flush(void *wire)
{
    natsConnection_ProcessWriteEvent(((struct wire *)wire)->nc);
}
