#include "stats/http_places.h"

#include <stdlib.h>
#include <sys/socket.h>

#include <utlist.h>

static void forget(struct http_places *p, struct http_place *place)
{
    DL_DELETE(p->oldest, place);
    p->count--;
    p->large_count -= place->is_large;
}

static void drop(struct http_places *p, struct http_place *place, enum http_places_reason why)
{
    forget(p, place);
    place->is_dropped = true;
    p->dropped[why]++;
    shutdown(place->fd, SHUT_RDWR);
}

struct http_place *http_places_take(struct http_places *p, int fd, int64_t now_ns)
{
    struct http_place *place = calloc(1, sizeof(*place));
    if (place == NULL)
        return NULL;
    if (p->count >= HTTP_PLACES_MAX)
        drop(p, p->oldest, HTTP_PLACES_CROWDED);
    place->fd = fd;
    place->began_ns = now_ns;
    DL_APPEND(p->oldest, place);
    p->count++;
    return place;
}

void http_places_set_large(struct http_places *p, struct http_place *place)
{
    if (place->is_large || place->is_dropped)
        return;
    place->is_large = true;
    if (++p->large_count <= HTTP_PLACES_LARGE_MAX)
        return;
    struct http_place *oldest = p->oldest;
    while (!oldest->is_large)
        oldest = oldest->next;
    drop(p, oldest, HTTP_PLACES_CROWDED);
}

void http_places_free(struct http_places *p, struct http_place *place)
{
    if (place != NULL && !place->is_dropped)
        forget(p, place);
    free(place);
}

int http_places_sweep(struct http_places *p, int64_t now_ns)
{
    while (p->oldest != NULL && now_ns - p->oldest->began_ns >= HTTP_PLACES_DEADLINE_NS)
        drop(p, p->oldest, HTTP_PLACES_LATE);
    if (p->oldest == NULL)
        return -1;
    int64_t left_ns = p->oldest->began_ns + HTTP_PLACES_DEADLINE_NS - now_ns;
    return (int)(left_ns / 1000000) + 1;
}
