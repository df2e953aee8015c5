#include "cli/up/host.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (a->sa_family != AF_INET6)
        return false;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) ||
           (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET);
}

/* All addresses of this machine: clients here take the loopback. */
static bool is_any(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

/* The one to listen on; sets is_loopback from all of them. */
static const struct addrinfo *choose(const struct addrinfo *list, bool *all_loopback)
{
    const struct addrinfo *chosen = list;
    *all_loopback = true;
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) {
        *all_loopback = *all_loopback && is_loopback(a->ai_addr);
        if (a->ai_family == AF_INET && chosen->ai_family != AF_INET)
            chosen = a;
    }
    return chosen;
}

static void fill(struct host *h, const char *name, const struct addrinfo *a)
{
    const char *shown = is_any(a->ai_addr) ? "127.0.0.1" : name;
    snprintf(h->in_url, sizeof(h->in_url), strchr(shown, ':') != NULL ? "[%s]" : "%s", shown);
    getnameinfo(a->ai_addr, a->ai_addrlen, h->address, sizeof(h->address), NULL, 0, NI_NUMERICHOST);
}

ax_err host_resolve(const char *given, struct host *h, struct problem *p)
{
    char name[256];
    size_t n = strlen(given);
    bool bracketed = n >= 2 && given[0] == '[' && given[n - 1] == ']';
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    *h = (struct host){0};
    snprintf(name, sizeof(name), "%.*s", (int)(n - 2 * bracketed), given + bracketed);
    if (n == 0 || n >= sizeof(name) || getaddrinfo(name, NULL, &hints, &list) != 0) {
        return problem_set(p, AX_E_INVALID,
                           "--host: \"%.255s\" has no address; 127.0.0.1 is the "
                           "default",
                           given);
    }
    fill(h, name, choose(list, &h->is_loopback));
    freeaddrinfo(list);
    return AX_OK;
}
