#include "stats/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stats/metrics.h"

#define TEXT "text/plain; charset=utf-8"
#define PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"
#define CONNECTIONS_MAX 64
#define IDLE_S 15

struct http {
    struct MHD_Daemon *daemon;
    bool (*ready)(void *arg, char *why, unsigned long cap);
    void *arg;
    int port;
};

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

static enum MHD_Result answer_metrics(struct MHD_Connection *c)
{
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
        return answer_metrics(c);
    default:
        return answer_text(c, MHD_HTTP_OK, "ok\n");
    }
}

static int bound_port(int fd)
{
    struct sockaddr_storage a;
    socklen_t length = sizeof(a);
    if (getsockname(fd, (struct sockaddr *)&a, &length) != 0) {
        return 0;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
    return ntohs(a.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port);
}

/* Listening is done here rather than by the library, which says only that it failed and not why.
 * -1: p says why. */
static int listen_on(const char *bind_to, int port, struct problem *p)
{
    char service[16];
    snprintf(service, sizeof(service), "%d", port < 0 ? 0 : port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found;
    if (getaddrinfo(bind_to, service, &hints, &found) != 0) {
        problem_set(p, AX_E_IO,
                    "HTTP: cannot listen on \"%s\", must be an IP address such as 127.0.0.1 or ::",
                    bind_to);
        return -1;
    }
    int on = 1, fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, CONNECTIONS_MAX) != 0) {
        problem_set(p, AX_E_IO, "HTTP: cannot listen on %s port %s: %s", bind_to, service,
                    strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

ax_err http_start(struct http **out, const char *bind, int port,
                  bool (*ready)(void *arg, char *why, unsigned long cap), void *arg,
                  struct problem *p)
{
    struct http *h = calloc(1, sizeof(*h));
    if (h == NULL) {
        return problem_set(p, AX_E_NOMEM, "HTTP: out of memory");
    }
    int fd = listen_on(bind, port, p);
    if (fd < 0) {
        free(h);
        return AX_E_IO;
    }
    h->ready = ready;
    h->arg = arg;
    h->port = bound_port(fd);
    h->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, handle, h,
                                 MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
                                 (unsigned)IDLE_S, MHD_OPTION_END);
    if (h->daemon == NULL) {
        free(h); /* the library closed the socket */
        return problem_set(p, AX_E_IO, "HTTP: the server on %s port %d did not start", bind, port);
    }
    *out = h;
    return AX_OK;
}

int http_port(const struct http *h)
{
    return h->port;
}

void http_stop(struct http *h)
{
    if (h != NULL) {
        MHD_stop_daemon(h->daemon); /* closes the listening socket, waits for its thread */
        free(h);
    }
}
