#include "stats/http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connections that wait to be accepted. Beyond it the kernel drops them, and their clients try
 * again a second later: a burst of connections must not do that to a health check. */
#define BACKLOG 4096

int http_listen_port(int fd)
{
    struct sockaddr_storage a;
    socklen_t length = sizeof(a);
    if (getsockname(fd, (struct sockaddr *)&a, &length) != 0)
        return 0;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
    return ntohs(a.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port);
}

/* -1: errno. */
static int listen_at(const struct addrinfo *a)
{
    int on = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* Listening is done here rather than by libmicrohttpd, which says only that it failed and not
 * why. */
int http_listen_open(const char *address, int port, struct problem *p)
{
    char service[16];
    snprintf(service, sizeof(service), "%d", port < 0 ? 0 : port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found;
    if (getaddrinfo(address, service, &hints, &found) != 0) {
        problem_set(p, AX_E_IO,
                    "HTTP: cannot listen on \"%s\", must be an IP address such as 127.0.0.1 or ::",
                    address);
        return -1;
    }
    int fd = listen_at(found);
    if (fd < 0) {
        problem_set(p, AX_E_IO, "HTTP: cannot listen on %s port %s: %s", address, service,
                    strerror(errno));
    }
    freeaddrinfo(found);
    return fd;
}
