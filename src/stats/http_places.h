/* The connections that HTTP holds at a time. Each has a deadline that counts from its beginning and
 * covers everything: request, answer, and a client that reads slowly. A connection that comes when
 * all places are taken gets the place of the oldest one. So clients that send half a request, or
 * nothing, keep nobody else from being answered.
 *
 * A connection is dropped by shutting its socket down; whoever owns the socket then finds it at its
 * end, and closes it. One thread; time is passed in. */
#ifndef AX_STATS_HTTP_PLACES_H
#define AX_STATS_HTTP_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#define HTTP_PLACES_MAX 64
/* From these places come requests whose answers are large and held in memory until read. */
#define HTTP_PLACES_LARGE_MAX 8
#define HTTP_PLACES_DEADLINE_NS 10000000000LL

enum http_places_reason {
    HTTP_PLACES_LATE,    /* its deadline has passed */
    HTTP_PLACES_CROWDED, /* it was the oldest, and another one came */
    HTTP_PLACES_REASONS
};

struct http_place {
    struct http_place *prev, *next;
    int fd; /* borrowed */
    int64_t began_ns;
    bool is_large;
    bool is_dropped; /* it is in the list no more */
};

struct http_places {
    struct http_place *oldest; /* those not dropped, by age */
    int count, large_count;    /* of them */
    /* how many were dropped since the start */
    uint64_t dropped[HTTP_PLACES_REASONS];
};

/* A place for a new connection, whose socket is fd: the caller gives it back with http_places_free
 * before it closes the socket. NULL: no memory, nobody was dropped. */
struct http_place *http_places_take(struct http_places *p, int fd, int64_t now_ns);
/* This connection's answer is a large one. The oldest such connection is dropped when there are
 * more than HTTP_PLACES_LARGE_MAX. Repeating it changes nothing. */
void http_places_set_large(struct http_places *p, struct http_place *place);
/* The connection has ended. NULL allowed. */
void http_places_free(struct http_places *p, struct http_place *place);
/* Drops those whose deadline has passed. Returns the milliseconds until the next deadline; -1:
 * there is none. */
int http_places_sweep(struct http_places *p, int64_t now_ns);

#endif
