#include "bus/wire.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <utlist.h>

#include "bus/connect.h"

struct wire_sub {
    natsSubscription *sub;
    wire_handler handler;
    void *arg;
    void (*no_responders)(void *arg); /* may be NULL */
    struct wire_sub *prev, *next;
};

struct wire {
    natsConnection *nc;
    struct loop *loop;
    struct wire_sub *subs; /* in the order in which they are served; only ever added to */
    pthread_mutex_t lock;  /* guards the rest against attach and detach from nats.c's threads */
    struct loop_source source;
    int fd;                 /* -1: none */
    atomic_bool want_write; /* nats.c has something in its buffer */
    atomic_uint_fast64_t connections;
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

/* ---- messages ---- */

static void deliver(struct wire *w, struct wire_sub *s)
{
    natsMsg *msg;
    natsStatus next = NATS_OK;
    while (next == NATS_OK || next == NATS_NO_RESPONDERS) {
        next = natsSubscription_NextMsg(&msg, s->sub, 0);
        if (next == NATS_OK) {
            loop_count_message(w->loop);
            s->handler(s->arg, msg);
        } else if (next == NATS_NO_RESPONDERS && s->no_responders != NULL) {
            s->no_responders(s->arg);
        }
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
    w->source = (struct loop_source){.ready = on_ready, .before_sleep = flush, .arg = w};
    const struct connect_loop hooks = {w, on_attach, on_want_read, on_want_write, on_detach};
    *out = w;
    ax_err err = connect_open(&w->nc, o, &hooks, name, events, p);
    if (err == AX_OK)
        loop_add_source(l, &w->source);
    return err;
}

void wire_close(struct wire *w)
{
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
