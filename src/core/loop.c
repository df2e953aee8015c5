#include "core/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "core/memory.h"

/* nats.c attaches one socket per connection; a daemon has one connection. Slots are never freed
 * while the loop lives: the epoll thread may hold an event for a slot that another thread is just
 * detaching. */
#define SOCKS_MAX 4

/* Moderation, as network cards do with interrupts: under load the loop lets messages gather for a
 * moment before it reads again, so that one read, one pass and one write serve many, here and in
 * the server. A quiet loop never waits. */
#define GATHER_NS 500000L /* how long */
#define GATHER_WINDOW_NS 4000000LL
#define GATHER_MESSAGES 32 /* this many within a window are load */

struct sock {
    struct loop *loop;
    natsConnection *nc;
    pthread_mutex_t lock; /* guards fd and events against attach/detach from nats.c's threads */
    int fd;               /* -1: none */
    uint32_t events;
    bool added;
    atomic_bool used;       /* nc is set, for good */
    atomic_bool want_write; /* nats.c has something in its buffer */
};

struct sub {
    natsSubscription *sub;
    natsConnection *nc;
    natsMsgHandler handler;
    void *closure;
    void (*no_responders)(void *closure); /* may be NULL */
};

struct loop {
    struct clock *clock;
    pthread_mutex_t lock;
    int epoll_fd, wake_fd, signal_fd;
    atomic_bool stopping;
    pthread_t owner;          /* thread of loop_run */
    atomic_bool running;      /* set after owner: asked without the lock, from inside nats.c's */
    struct loop_timer **heap; /* 1-based binary heap by due_ns */
    int heap_count, heap_cap;
    struct sock socks[SOCKS_MAX];
    int64_t window_ns; /* start of the window in which messages are counted */
    int window_messages;
    bool busy; /* the last window was one of load */
    struct loop_later *later, **later_end;
    void (*wake)(void *arg);
    void *wake_arg;
    struct sub *subs; /* in the order of loop_subscribe; only ever added to */
    int sub_count, sub_cap;
};

static void set_wakeup(struct loop *l)
{
    uint64_t one = 1;
    ssize_t n = write(l->wake_fd, &one, sizeof(one));
    (void)n; /* full counter: a wake-up is pending already */
}

static ax_err add_fd(struct loop *l, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
    if (fd < 0 || epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
        return AX_E_IO;
    return AX_OK;
}

void loop_block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

ax_err loop_new(struct loop **out, struct clock *clock)
{
    struct loop *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return AX_E_NOMEM;
    l->clock = clock;
    l->later_end = &l->later;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE); /* handlers may enter once more */
    pthread_mutex_init(&l->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    for (int i = 0; i < SOCKS_MAX; i++) {
        l->socks[i].loop = l;
        l->socks[i].fd = -1;
        pthread_mutex_init(&l->socks[i].lock, NULL);
    }
    l->heap_cap = 64;
    l->heap = calloc((size_t)l->heap_cap, sizeof(*l->heap));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l->heap == NULL || l->epoll_fd < 0 || add_fd(l, l->wake_fd) != AX_OK ||
        add_fd(l, l->signal_fd) != AX_OK) {
        loop_free(l);
        return AX_E_IO;
    }
    *out = l;
    return AX_OK;
}

void loop_free(struct loop *l)
{
    if (l == NULL)
        return;
    if (l->epoll_fd >= 0)
        close(l->epoll_fd);
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    if (l->signal_fd >= 0)
        close(l->signal_fd);
    for (int i = 0; i < SOCKS_MAX; i++)
        pthread_mutex_destroy(&l->socks[i].lock);
    pthread_mutex_destroy(&l->lock);
    for (int i = 0; i < l->sub_count; i++)
        natsSubscription_Destroy(l->subs[i].sub);
    free(l->subs);
    free(l->heap);
    free(l);
}

void loop_enter(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
}

void loop_leave(struct loop *l)
{
    pthread_mutex_unlock(&l->lock);
}

struct clock *loop_clock(struct loop *l)
{
    return l->clock;
}

static bool is_owner(const struct loop *l)
{
    return atomic_load(&l->running) && pthread_equal(pthread_self(), l->owner);
}

static void heap_place(struct loop *l, int i, struct loop_timer *t)
{
    l->heap[i] = t;
    t->heap_index = i;
}

static void heap_up(struct loop *l, int i)
{
    struct loop_timer *t = l->heap[i];
    for (; i > 1 && l->heap[i / 2]->due_ns > t->due_ns; i /= 2)
        heap_place(l, i, l->heap[i / 2]);
    heap_place(l, i, t);
}

static void heap_down(struct loop *l, int i)
{
    struct loop_timer *t = l->heap[i];
    for (;;) {
        int child = 2 * i;
        if (child > l->heap_count)
            break;
        if (child < l->heap_count && l->heap[child + 1]->due_ns < l->heap[child]->due_ns)
            child++;
        if (l->heap[child]->due_ns >= t->due_ns)
            break;
        heap_place(l, i, l->heap[child]);
        i = child;
    }
    heap_place(l, i, t);
}

void loop_timer_stop(struct loop *l, struct loop_timer *t)
{
    int i = t->heap_index;
    if (i == 0)
        return;
    struct loop_timer *last = l->heap[l->heap_count--];
    t->heap_index = 0;
    if (last == t)
        return;
    heap_place(l, i, last);
    heap_up(l, i);
    heap_down(l, last->heap_index);
}

void loop_timer_start_ns(struct loop *l, struct loop_timer *t, int64_t delay_ns,
                         void (*fire)(void *), void *arg)
{
    loop_timer_stop(l, t);
    if (l->heap_count + 1 >= l->heap_cap) {
        struct loop_timer **grown = realloc(l->heap, (size_t)l->heap_cap * 2 * sizeof(*grown));
        if (grown == NULL)
            memory_fatal("timers"); /* one that never fires would stall silently */
        l->heap = grown;
        l->heap_cap *= 2;
    }
    t->due_ns = loop_now_ns(l) + (delay_ns > 0 ? delay_ns : 0);
    t->fire = fire;
    t->arg = arg;
    l->heap_count++;
    heap_place(l, l->heap_count, t);
    heap_up(l, l->heap_count);
    if (t->heap_index == 1 && !is_owner(l))
        set_wakeup(l);
}

void loop_timer_start(struct loop *l, struct loop_timer *t, int64_t delay_ms, void (*fire)(void *),
                      void *arg)
{
    loop_timer_start_ns(l, t, delay_ms * 1000000, fire, arg);
}

static void run_timers(struct loop *l)
{
    loop_enter(l);
    int64_t now = loop_now_ns(l);
    while (l->heap_count > 0 && l->heap[1]->due_ns <= now) {
        struct loop_timer *t = l->heap[1];
        loop_timer_stop(l, t);
        t->fire(t->arg);
    }
    loop_leave(l);
}

/* The epoll timeout until the next timer. */
static int until_next_timer(struct loop *l)
{
    int timeout_ms = -1;
    loop_enter(l);
    if (l->heap_count > 0) {
        int64_t wait = l->heap[1]->due_ns - loop_now_ns(l);
        timeout_ms = wait <= 0              ? 0
                     : wait > 3600000000000 ? 3600000
                                            : (int)((wait + 999999) / 1000000);
    }
    loop_leave(l);
    return timeout_ms;
}

static ax_err subscribe(struct loop *l, struct sub *d, const char *subject, const char *queue)
{
    if (l->sub_count == l->sub_cap) {
        int cap = l->sub_cap == 0 ? 32 : l->sub_cap * 2;
        struct sub *grown = realloc(l->subs, (size_t)cap * sizeof(*grown));
        if (grown == NULL)
            return AX_E_NOMEM;
        l->subs = grown;
        l->sub_cap = cap;
    }
    natsStatus s = queue != NULL ? natsConnection_QueueSubscribeSync(&d->sub, d->nc, subject, queue)
                                 : natsConnection_SubscribeSync(&d->sub, d->nc, subject);
    if (s == NATS_OK) {
        /* bounded by what AX asks for, not by dropping */
        s = natsSubscription_SetPendingLimits(d->sub, -1, -1);
    }
    if (s != NATS_OK) {
        natsSubscription_Destroy(d->sub);
        return s == NATS_NO_MEMORY ? AX_E_NOMEM : AX_E_DISCONNECTED;
    }
    l->subs[l->sub_count++] = *d;
    return AX_OK;
}

ax_err loop_subscribe(struct loop *l, natsSubscription **out, natsConnection *nc,
                      const char *subject, const char *queue, natsMsgHandler handler, void *closure)
{
    struct sub d = {.nc = nc, .handler = handler, .closure = closure};
    loop_enter(l);
    ax_err err = subscribe(l, &d, subject, queue);
    loop_leave(l);
    if (err == AX_OK && out != NULL)
        *out = d.sub;
    return err;
}

void loop_on_no_responders(struct loop *l, const natsSubscription *sub, void (*told)(void *closure))
{
    loop_enter(l);
    for (int i = 0; i < l->sub_count; i++) {
        if (l->subs[i].sub == sub)
            l->subs[i].no_responders = told;
    }
    loop_leave(l);
}

/* Hands over what the last read brought. A handler may subscribe (l->subs moves) and may
 * publish. */
static void deliver(struct loop *l, const struct sock *s)
{
    loop_enter(l);
    for (int i = 0; i < l->sub_count; i++) {
        struct sub d = l->subs[i];
        natsMsg *msg;
        natsStatus next = NATS_OK;
        while (d.nc == s->nc && (next == NATS_OK || next == NATS_NO_RESPONDERS)) {
            next = natsSubscription_NextMsg(&msg, d.sub, 0);
            if (next == NATS_OK) {
                l->window_messages++;
                d.handler(d.nc, d.sub, msg, d.closure);
            } else if (next == NATS_NO_RESPONDERS && d.no_responders != NULL) {
                d.no_responders(d.closure);
            }
        }
    }
    loop_leave(l);
}

static natsStatus change(struct sock *s, uint32_t bit, bool add);

/* Writes what was published. What the socket does not take goes when epoll says so. */
static void flush(struct sock *s)
{
    if (!atomic_load(&s->want_write))
        return;
    natsConnection_ProcessWriteEvent(s->nc);
    change(s, EPOLLOUT, atomic_load(&s->want_write));
}

void loop_do_later(struct loop *l, struct loop_later *x, void (*run)(void *), void *arg)
{
    if (x->queued)
        return;
    *x = (struct loop_later){.run = run, .arg = arg, .queued = true};
    *l->later_end = x;
    l->later_end = &x->next;
    if (!is_owner(l))
        set_wakeup(l);
}

static void run_later(struct loop *l)
{
    loop_enter(l);
    for (struct loop_later *x = l->later; x != NULL; x = l->later) {
        l->later = x->next;
        if (l->later == NULL)
            l->later_end = &l->later;
        x->queued = false;
        x->run(x->arg);
    }
    loop_leave(l);
}

static void serve_sock(struct sock *s, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        natsConnection_ProcessReadEvent(s->nc);
        deliver(s->loop, s);
    }
}

static void gather(struct loop *l)
{
    int64_t now = loop_now_ns(l);
    if (now - l->window_ns >= GATHER_WINDOW_NS) {
        l->busy = l->window_messages >= GATHER_MESSAGES &&
                  now - l->window_ns < 2 * GATHER_WINDOW_NS;
        l->window_ns = now;
        l->window_messages = 0;
    }
    if (l->busy) {
        struct timespec pause = {.tv_nsec = GATHER_NS};
        nanosleep(&pause, NULL);
    }
}

void loop_on_wake(struct loop *l, void (*wake)(void *), void *arg)
{
    l->wake = wake;
    l->wake_arg = arg;
}

static void wake(struct loop *l)
{
    if (l->wake == NULL)
        return;
    loop_enter(l);
    l->wake(l->wake_arg);
    loop_leave(l);
}

int loop_run(struct loop *l)
{
    struct epoll_event events[8];
    int caught = 0;
    loop_enter(l);
    l->owner = pthread_self();
    atomic_store(&l->running, true);
    loop_leave(l);
    while (!atomic_load(&l->stopping) && caught == 0) {
        run_timers(l);
        run_later(l);
        int timeout_ms = until_next_timer(l);
        for (int i = 0; i < SOCKS_MAX && l->socks[i].used; i++)
            flush(&l->socks[i]);
        gather(l);
        int n = epoll_wait(l->epoll_fd, events, 8, timeout_ms);
        wake(l);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr != NULL) {
                serve_sock(events[i].data.ptr, events[i].events);
                continue;
            }
            uint64_t count;
            ssize_t got = read(l->wake_fd, &count, sizeof(count));
            (void)got;
            struct signalfd_siginfo info;
            if (read(l->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
                caught = (int)info.ssi_signo;
        }
    }
    loop_enter(l);
    atomic_store(&l->running, false);
    atomic_store(&l->stopping, false);
    loop_leave(l);
    return caught;
}

void loop_stop(struct loop *l)
{
    atomic_store(&l->stopping, true);
    set_wakeup(l);
}

/* Brings epoll in line with what nats.c wants. A socket without interest is taken out altogether:
 * EPOLLHUP is reported for it otherwise, and a connection that is down would spin the loop. s->lock
 * held. */
static natsStatus update(struct sock *s, uint32_t events)
{
    if (s->fd < 0 || events == s->events)
        return NATS_OK;
    struct epoll_event ev = {.events = events, .data.ptr = s};
    int op = events == 0 ? EPOLL_CTL_DEL : s->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    int rc = epoll_ctl(s->loop->epoll_fd, op, s->fd, &ev);
    if (rc != 0 && op != EPOLL_CTL_DEL)
        return NATS_IO_ERROR;
    s->added = events != 0;
    s->events = events;
    return NATS_OK;
}

static natsStatus change(struct sock *s, uint32_t bit, bool add)
{
    pthread_mutex_lock(&s->lock);
    natsStatus st = update(s, add ? s->events | bit : s->events & ~bit);
    pthread_mutex_unlock(&s->lock);
    return st;
}

natsStatus loop_attach(void **user_data, void *loop, natsConnection *nc, natsSock socket)
{
    struct loop *l = loop;
    struct sock *s = *user_data;
    for (int i = 0; s == NULL && i < SOCKS_MAX; i++) {
        if (!l->socks[i].used)
            s = &l->socks[i];
    }
    if (s == NULL)
        return NATS_INSUFFICIENT_BUFFER;
    pthread_mutex_lock(&s->lock);
    if (!atomic_load(&s->used)) {
        s->nc = nc;
        atomic_store(&s->used, true);
    }
    s->fd = socket; /* a former one was closed by nats.c, which took it out of epoll */
    s->events = 0;
    s->added = false;
    atomic_store(&s->want_write, false);
    natsStatus st = update(s, EPOLLIN);
    pthread_mutex_unlock(&s->lock);
    if (*user_data ==
        NULL) /* a field of nats.c's, which each thread that reconnects reads: written once */
        *user_data = s;
    return st;
}

natsStatus loop_read(void *user_data, bool add)
{
    return change(user_data, EPOLLIN, add);
}

natsStatus loop_write(void *user_data, bool add)
{
    struct sock *s = user_data;
    atomic_store(&s->want_write, add);
    if (add && !is_owner(s->loop))
        set_wakeup(s->loop); /* the loop's own thread comes by before it sleeps */
    return NATS_OK;
}

natsStatus loop_detach(void *user_data)
{
    struct sock *s = user_data;
    pthread_mutex_lock(&s->lock);
    update(s, 0);
    s->fd = -1;
    pthread_mutex_unlock(&s->lock);
    return NATS_OK;
}
