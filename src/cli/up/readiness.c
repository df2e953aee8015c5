#include "cli/up/readiness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define TIMEOUT_MS 500

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int readiness_free_port(void)
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

/* Sends the request; the answer is read from the stream. NULL: nobody listens. */
static FILE *request(int port)
{
    static const char text[] = "GET /readyz HTTP/1.0\r\n\r\n";
    struct sockaddr_in a = loopback(port);
    struct timeval limit = {.tv_usec = TIMEOUT_MS * 1000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    FILE *answer = NULL;
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
        send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(text) - 1)
        answer = fdopen(fd, "r");
    if (answer == NULL)
        close(fd);
    return answer;
}

/* The first line of the body; "" where there is none. */
static void read_body(FILE *answer, char *line, size_t cap)
{
    bool in_body = false;
    line[0] = '\0';
    while (fgets(line, (int)cap, answer) != NULL && !in_body)
        in_body = line[0] == '\r' || line[0] == '\n';
    line[strcspn(line, "\r\n")] = '\0';
}

bool readiness_probe(int port, char *why, size_t cap)
{
    int status = 0;
    FILE *answer = request(port);
    if (answer != NULL && fscanf(answer, "HTTP/%*s %d", &status) == 1 && status != 200)
        read_body(answer, why, cap);
    else if (status == 0)
        snprintf(why, cap, "does not answer yet");
    if (answer != NULL)
        fclose(answer);
    return status == 200;
}
