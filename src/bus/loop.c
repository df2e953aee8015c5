#include "bus/loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "base/memory.h"
#include "base/saturate.h"

/* Moderation, as network cards do with interrupts: under load the loop lets messages gather for a
 * moment before it reads again, so that one read, one pass and one write serve many, here and in
 * the server. A quiet loop never waits, nor does one for which a whole read waits already. */
#define GATHER_NS 500000L /* how long */
#define GATHER_WINDOW_NS 4000000LL
#define GATHER_MESSAGES 32 /* this many within a window are load */

#define STILL_NS 5000000000LL /* no turn should ever take so long */

struct loop {
    struct clock *clock;
    pthread_mutex_t lock;
    int epoll_fd, wake_fd, signal_fd;
    atomic_bool stopping;
    pthread_t owner;             /* thread of loop_run */
    atomic_bool running;         /* set after owner: asked without the lock, from inside nats.c's */
    atomic_int_fast64_t turn_ns; /* when it woke up, or will; 0: it does not run */
    struct loop_timer **heap;    /* 1-based binary heap by due_ns */
    int heap_count, heap_cap;
    struct loop_source *sources; /* only ever added to */
    int64_t window_ns;           /* start of the window in which messages are counted */
    int window_messages;
    bool busy; /* the last window was one of load */
    struct loop_later *later;
    void (*wake)(void *arg);
    void *wake_arg;
};

void loop_wake(struct loop *l)
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

static void discard(struct loop *l)
{
    if (l->epoll_fd >= 0)
        close(l->epoll_fd);
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    if (l->signal_fd >= 0)
        close(l->signal_fd);
    pthread_mutex_destroy(&l->lock);
    free(l->heap);
    free(l);
}

ax_err loop_new(struct loop **out, struct clock *clock)
{
    struct loop *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return AX_E_NOMEM;
    l->clock = clock;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE); /* handlers may enter once more */
    pthread_mutex_init(&l->lock, &attr);
    pthread_mutexattr_destroy(&attr);
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
        discard(l);
        return AX_E_IO;
    }
    *out = l;
    return AX_OK;
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

bool loop_is_owner(const struct loop *l)
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
    t->due_ns = saturate_add(loop_now_ns(l), delay_ns > 0 ? delay_ns : 0);
    t->fire = fire;
    t->arg = arg;
    l->heap_count++;
    heap_place(l, l->heap_count, t);
    heap_up(l, l->heap_count);
    if (t->heap_index == 1 && !loop_is_owner(l))
        loop_wake(l);
}

void loop_timer_start(struct loop *l, struct loop_timer *t, int64_t delay_ms, void (*fire)(void *),
                      void *arg)
{
    loop_timer_start_ns(l, t, saturate_mul(delay_ms, 1000000), fire, arg);
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

static int64_t wakes_at_ns(struct loop *l, int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : saturate_add(loop_now_ns(l), timeout_ms * 1000000LL);
}

void loop_do_later(struct loop *l, struct loop_later *x, void (*run)(void *), void *arg)
{
    if (x->queued)
        return;
    *x = (struct loop_later){.run = run, .arg = arg, .queued = true};
    DL_APPEND(l->later, x);
    if (!loop_is_owner(l))
        loop_wake(l);
}

static void run_later(struct loop *l)
{
    loop_enter(l);
    while (l->later != NULL) {
        struct loop_later *x = l->later;
        DL_DELETE(l->later, x);
        x->queued = false;
        x->run(x->arg);
    }
    loop_leave(l);
}

static bool has_much(const struct loop *l)
{
    for (const struct loop_source *s = l->sources; s != NULL; s = s->next) {
        if (s->has_much(s->arg))
            return true;
    }
    return false;
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
    if (l->busy && !has_much(l)) {
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
        for (struct loop_source *s = l->sources; s != NULL; s = s->next)
            s->before_sleep(s->arg);
        gather(l);
        atomic_store(&l->turn_ns, wakes_at_ns(l, timeout_ms));
        int n = epoll_wait(l->epoll_fd, events, 8, timeout_ms);
        atomic_store(&l->turn_ns, loop_now_ns(l));
        wake(l);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr != NULL) {
                struct loop_source *s = events[i].data.ptr;
                s->ready(s->arg, events[i].events);
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
    atomic_store(&l->turn_ns, 0);
    loop_enter(l);
    atomic_store(&l->running, false);
    atomic_store(&l->stopping, false);
    loop_leave(l);
    return caught;
}

bool loop_stands_still(struct loop *l, char *why, size_t cap)
{
    int64_t turn_ns = atomic_load(&l->turn_ns);
    int64_t for_ns = turn_ns != 0 ? loop_now_ns(l) - turn_ns : 0;
    if (for_ns < STILL_NS)
        return false;
    snprintf(why, cap, "the loop has stood still for %lld s", (long long)(for_ns / 1000000000));
    return true;
}

/* By looking again and again: ThreadSanitizer does not know pthread_mutex_clocklock, and
 * pthread_mutex_timedlock goes by the host's clock. */
bool loop_enter_within(struct loop *l, int64_t limit_ms)
{
    int64_t until = loop_now_ns(l) + limit_ms * 1000000;
    while (pthread_mutex_trylock(&l->lock) != 0) {
        if (loop_now_ns(l) >= until)
            return false;
        poll(NULL, 0, 1);
    }
    return true;
}

void loop_stop(struct loop *l)
{
    atomic_store(&l->stopping, true);
    loop_wake(l);
}

void loop_add_source(struct loop *l, struct loop_source *s)
{
    loop_enter(l);
    LL_PREPEND(l->sources, s);
    loop_leave(l);
}

bool loop_watch(struct loop *l, struct loop_source *s, int fd, uint32_t events)
{
    if (events == s->watched)
        return true;
    struct epoll_event ev = {.events = events, .data.ptr = s};
    int op = events == 0 ? EPOLL_CTL_DEL : s->watched != 0 ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(l->epoll_fd, op, fd, &ev) != 0 && op != EPOLL_CTL_DEL)
        return false;
    s->watched = events;
    return true;
}

void loop_count_message(struct loop *l)
{
    l->window_messages++;
}
