#include "base/io/outlet.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"

#define ROOM_BYTES ((size_t)256 * 1024)
#define RESERVED_BYTES ((size_t)32 * 1024) /* for log lines */
/* PIPE_BUF: what is written in one piece does not mix with what others write. */
#define PIECE_BYTES 4096
#define FLUSH_MS 1000

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change; /* there is more to write, all is written, or it stops */
    struct thread thread;
    char *ring;                      /* NULL: not started */
    atomic_uint_fast64_t put, took;  /* bytes since the start */
    uint64_t dropped, dropped_taken; /* lines */
    bool stopping, ended;
} outlet = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* When stderr is gone, nobody can be told. */
static void write_all(const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(STDERR_FILENO, text, bytes);
        if (n < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            return;
        } else if (n > 0) {
            text += n;
            bytes -= (size_t)n;
        }
    }
}

/* The next piece: whole lines, as far as there are. Copied. */
static size_t next_piece(char piece[PIECE_BYTES])
{
    size_t bytes = (size_t)(outlet.put - outlet.took);
    bytes = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
    for (size_t i = 0; i < bytes; i++)
        piece[i] = outlet.ring[(outlet.took + i) % ROOM_BYTES];
    const char *end = memrchr(piece, '\n', bytes);
    return end != NULL ? (size_t)(end - piece) + 1 : bytes;
}

/* Somebody reads again. With the lock, which it gives back meanwhile. */
static void say_dropped(void)
{
    uint64_t lines = outlet.dropped - outlet.dropped_taken;
    outlet.dropped_taken += lines;
    pthread_mutex_unlock(&outlet.lock);
    log_warn("stderr is not read fast enough, lines were dropped", "lines=%" PRIu64, lines);
    pthread_mutex_lock(&outlet.lock);
}

static void *empty(void *arg)
{
    char piece[PIECE_BYTES];
    (void)arg;
    pthread_mutex_lock(&outlet.lock);
    for (;;) {
        while (outlet.put == outlet.took && !outlet.stopping) {
            if (outlet.dropped != outlet.dropped_taken)
                say_dropped();
            else
                pthread_cond_wait(&outlet.change, &outlet.lock);
        }
        size_t bytes = next_piece(piece);
        if (bytes == 0)
            break;
        pthread_mutex_unlock(&outlet.lock);
        write_all(piece, bytes);
        pthread_mutex_lock(&outlet.lock);
        outlet.took += bytes;
    }
    outlet.ended = true;
    pthread_cond_broadcast(&outlet.change);
    pthread_mutex_unlock(&outlet.lock);
    return NULL;
}

static uint64_t count_lines(const char *text, size_t bytes)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    return lines > 0 ? lines : 1;
}

static void put(const char *text, size_t bytes, size_t room)
{
    uint64_t waiting = outlet.put - outlet.took;
    if (waiting + bytes > room) {
        outlet.dropped += count_lines(text, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i++)
        outlet.ring[(outlet.put + i) % ROOM_BYTES] = text[i];
    outlet.put += bytes;
    pthread_cond_signal(&outlet.change);
}

static void write_within(const char *text, size_t bytes, size_t room)
{
    int err = errno;
    pthread_mutex_lock(&outlet.lock);
    bool direct = outlet.ring == NULL;
    if (!direct)
        put(text, bytes, room);
    pthread_mutex_unlock(&outlet.lock);
    if (direct)
        write_all(text, bytes);
    errno = err;
}

void outlet_write(const char *text, size_t bytes)
{
    write_within(text, bytes, ROOM_BYTES - RESERVED_BYTES);
}

static void write_line(const char *line, size_t bytes)
{
    write_within(line, bytes, ROOM_BYTES);
}

/* No lock: it may be held by whom a signal has interrupted. */
static void flush(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int ms = 0; ms < FLUSH_MS && atomic_load(&outlet.put) != atomic_load(&outlet.took); ms++)
        nanosleep(&pause, NULL);
}

bool outlet_start(void)
{
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&outlet.change, &clock);
    pthread_condattr_destroy(&clock);
    outlet.ring = malloc(ROOM_BYTES);
    errno = ENOMEM;
    if (outlet.ring == NULL)
        return false;
    errno = EAGAIN;
    if (thread_start(&outlet.thread, empty, NULL) != AX_OK) {
        free(outlet.ring);
        outlet.ring = NULL;
        return false;
    }
    log_set_writer(write_line);
    log_set_flush(flush);
    return true;
}

uint64_t outlet_dropped(void)
{
    pthread_mutex_lock(&outlet.lock);
    uint64_t lines = outlet.dropped;
    pthread_mutex_unlock(&outlet.lock);
    return lines;
}

/* Lock held. */
static bool wait_for_end(int64_t wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + wait_ms % 1000 * 1000000;
    until.tv_sec += wait_ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    int err = 0;
    while (!outlet.ended && err == 0)
        err = pthread_cond_timedwait(&outlet.change, &outlet.lock, &until);
    return outlet.ended;
}

void outlet_stop(int64_t wait_ms)
{
    if (outlet.ring == NULL)
        return;
    pthread_mutex_lock(&outlet.lock);
    outlet.stopping = true;
    pthread_cond_signal(&outlet.change);
    bool ended = wait_for_end(wait_ms);
    pthread_mutex_unlock(&outlet.lock);
    if (!ended)
        return; /* it waits in write, with the ring, until the process ends */
    thread_join(&outlet.thread);
    log_set_writer(NULL);
    log_set_flush(NULL);
    free(outlet.ring);
    outlet.ring = NULL;
}
