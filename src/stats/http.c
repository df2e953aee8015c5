#include "stats/http.h"

#include <microhttpd.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io/outlet.h"
#include "base/log.h"
#include "base/thread.h"
#include "stats/http_listen.h"
#include "stats/http_places.h"
#include "stats/metrics.h"

#define TEXT "text/plain; charset=utf-8"
#define PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"
/* The library's own limit. It closes the newest connections, and http_places has to choose instead.
 * Dropped ones count here until the library has closed them. */
#define CONNECTIONS_MAX (2 * HTTP_PLACES_MAX)
/* Of one connection: request line and headers. */
#define MEMORY_BYTES 8192
#define LOG_INTERVAL_NS 60000000000LL

struct http {
    struct MHD_Daemon *daemon;
    bool (*ready)(void *arg, char *why, unsigned long cap);
    void *arg;
    int port;
    struct thread thread;
    int wake_fd;
    atomic_bool stop;
    /* the thread's own from here on */
    struct http_places places;
    uint64_t told[HTTP_PLACES_REASONS]; /* what of places.dropped metrics know */
    struct metric *dropped[HTTP_PLACES_REASONS];
    struct metric *log_dropped;
    uint64_t log_told; /* the same */
    struct log_gate gate;
};

/* ---- pages */

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type,
                              const void *body, size_t bytes, enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(bytes, (void *)body, mode);
    if (r == NULL) {
        if (mode == MHD_RESPMEM_MUST_FREE) {
            free((void *)body);
        }
        return MHD_NO;
    }
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    /* A connection's deadline is then that of its one request. */
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    enum MHD_Result result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *c, unsigned status, const char *text)
{
    return answer(c, status, TEXT, text, strlen(text), MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result answer_ready(struct http *h, struct MHD_Connection *c)
{
    char why[256] = "", line[sizeof(why) + 16];
    if (h->ready == NULL || h->ready(h->arg, why, sizeof(why))) {
        return answer_text(c, MHD_HTTP_OK, "ok\n");
    }
    snprintf(line, sizeof(line), "not ready: %s\n", why[0] != '\0' ? why : "starting");
    return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, line);
}

static struct http_place *place_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

static void tell_log_dropped(struct http *h)
{
    uint64_t more = outlet_dropped() - h->log_told;
    h->log_told += more;
    metric_add(h->log_dropped, (int64_t)more);
}

static enum MHD_Result answer_metrics(struct http *h, struct MHD_Connection *c)
{
    http_places_set_large(&h->places, place_of(c));
    tell_log_dropped(h);
    size_t bytes = 0;
    char *text = metrics_text(&bytes);
    if (text == NULL) {
        return answer_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
    }
    return answer(c, MHD_HTTP_OK, PROMETHEUS, text, bytes, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **state)
{
    (void)version, (void)upload, (void)upload_bytes, (void)state;
    enum {
        HEALTHZ,
        READYZ,
        METRICS,
        NONE
    } page = strcmp(url, "/healthz") == 0   ? HEALTHZ
             : strcmp(url, "/readyz") == 0  ? READYZ
             : strcmp(url, "/metrics") == 0 ? METRICS
                                            : NONE;
    if (page == NONE) {
        return answer_text(c, MHD_HTTP_NOT_FOUND,
                           "not found; there are /healthz, /readyz and /metrics\n");
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n");
    }
    switch (page) {
    case READYZ:
        return answer_ready(arg, c);
    case METRICS:
        return answer_metrics(arg, c);
    default:
        return answer_text(c, MHD_HTTP_OK, "ok\n");
    }
}

/* ---- connections */

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *h = arg;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        http_places_free(&h->places, *context);
        return;
    }
    int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    *context = http_places_take(&h->places, fd, clock_now_ns());
    if (*context == NULL)
        shutdown(fd, SHUT_RDWR);
}

/* Metrics at once, the log once a minute. */
static void tell_dropped(struct http *h)
{
    bool any = false;
    for (int i = 0; i < HTTP_PLACES_REASONS; i++) {
        uint64_t more = h->places.dropped[i] - h->told[i];
        h->told[i] += more;
        metric_add(h->dropped[i], (int64_t)more);
        any = any || more > 0;
    }
    unsigned long suppressed;
    if (any && log_gate_open(&h->gate, clock_now_ns(), LOG_INTERVAL_NS, &suppressed)) {
        log_warn("HTTP connections dropped", "late=%llu crowded=%llu",
                 (unsigned long long)h->told[HTTP_PLACES_LATE],
                 (unsigned long long)h->told[HTTP_PLACES_CROWDED]);
    }
}

static int least(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* The library's loop, turned by hand: its own thread knows no deadline of a whole request. */
static void *serve(void *arg)
{
    struct http *h = arg;
    int epoll_fd = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct pollfd fds[2] = {{.fd = epoll_fd, .events = POLLIN},
                            {.fd = h->wake_fd, .events = POLLIN}};
    while (!atomic_load(&h->stop)) {
        MHD_UNSIGNED_LONG_LONG ms;
        int soon = MHD_get_timeout(h->daemon, &ms) == MHD_YES ? (int)(ms < 1000 ? ms : 1000) : -1;
        int deadline = http_places_sweep(&h->places, clock_now_ns());
        poll(fds, 2, least(soon, deadline));
        MHD_run(h->daemon);
        tell_dropped(h);
    }
    return NULL;
}

/* ---- start and stop */

static struct MHD_Daemon *start_daemon(struct http *h, int fd)
{
    return MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, handle, h, MHD_OPTION_LISTEN_SOCKET, fd,
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
                            MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
}

static void add_metrics(struct http *h)
{
    static const char *const labels[] = {"reason=\"late\"", "reason=\"crowded\""};
    for (int i = 0; i < HTTP_PLACES_REASONS; i++) {
        h->dropped[i] = metrics_get(METRIC_COUNTER, "ax_http_dropped_total",
                                    "HTTP connections dropped before their end.", labels[i]);
    }
    h->log_dropped = metrics_get(METRIC_COUNTER, "ax_log_lines_dropped_total",
                                 "Lines of the log left out because nobody read stderr.", "");
}

/* Takes h and the socket: what it cannot start is freed. */
static ax_err start_thread(struct http *h, int fd)
{
    h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    h->daemon = h->wake_fd >= 0 ? start_daemon(h, fd) : NULL;
    if (h->daemon != NULL && thread_start(&h->thread, serve, h) == AX_OK)
        return AX_OK;
    if (h->daemon != NULL)
        MHD_stop_daemon(h->daemon); /* closes the listening socket */
    else if (h->wake_fd < 0)
        close(fd); /* a daemon that does not start closes it */
    if (h->wake_fd >= 0)
        close(h->wake_fd);
    free(h);
    return AX_E_IO;
}

ax_err http_start(struct http **out, const char *bind, int port,
                  bool (*ready)(void *arg, char *why, unsigned long cap), void *arg,
                  struct problem *p)
{
    struct http *h = calloc(1, sizeof(*h));
    if (h == NULL) {
        return problem_set(p, AX_E_NOMEM, "HTTP: out of memory");
    }
    int fd = http_listen_open(bind, port, p);
    if (fd < 0) {
        free(h);
        return AX_E_IO;
    }
    h->ready = ready;
    h->arg = arg;
    h->port = http_listen_port(fd);
    add_metrics(h);
    if (start_thread(h, fd) != AX_OK)
        return problem_set(p, AX_E_IO, "HTTP: the server on %s port %d did not start", bind, port);
    *out = h;
    return AX_OK;
}

int http_port(const struct http *h)
{
    return h->port;
}

void http_stop(struct http *h)
{
    if (h == NULL)
        return;
    atomic_store(&h->stop, true);
    eventfd_write(h->wake_fd, 1);
    thread_join(&h->thread);
    MHD_stop_daemon(h->daemon); /* closes the connections and the listening socket */
    close(h->wake_fd);
    free(h);
}
