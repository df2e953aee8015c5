#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/up/up.h"

#define PROBE_TIMEOUT_MS 500

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int up_free_port(void)
{
    struct sockaddr_in a = loopback(0);
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
        getsockname(fd, (struct sockaddr *)&a, &n) == 0)
        port = ntohs(a.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}

bool up_probe(int port, char *why, size_t cap)
{
    static const char request[] =
        "GET /readyz HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    struct sockaddr_in a = loopback(port);
    struct timeval limit = {.tv_usec = PROBE_TIMEOUT_MS * 1000};
    char reply[1024];
    size_t got = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
            send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(request) - 1) {
            ssize_t n;
            while (got < sizeof(reply) - 1 &&
                   (n = recv(fd, reply + got, sizeof(reply) - 1 - got, 0)) > 0)
                got += (size_t)n;
        }
        close(fd);
    }
    reply[got] = '\0';
    const char *status = strchr(reply, ' ');
    if (strncmp(reply, "HTTP/", 5) != 0 || !status) {
        snprintf(why, cap, "does not answer yet");
        return false;
    }
    if (atoi(status) == 200)
        return true;
    const char *body = strstr(reply, "\r\n\r\n");
    body = body ? body + 4 : "";
    snprintf(why, cap, "%.*s", (int)strcspn(body, "\r\n"), body);
    return false;
}
