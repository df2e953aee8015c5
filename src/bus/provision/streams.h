/* Creates the streams of streams/ that do not exist, and leaves the others as they are. */
#ifndef AX_BUS_PROVISION_STREAMS_H
#define AX_BUS_PROVISION_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bus/provision/asker.h"
#include "bus/provision/pages.h"

/* Zero-initialise, then set the fields before the blank line. */
struct streams {
    struct asker *asker;
    int replicas; /* of those made; 0 or 1: as in their files */
    /* May be NULL: each one that we made. */
    void (*created)(void *arg, const char *stream);
    /* Once for each streams_ensure, last. p->err AX_OK: all exist. */
    void (*done)(void *arg, const struct problem *p);
    void *arg;

    uint64_t seen;    /* a bit for each asset that this process has found at some time */
    uint64_t present; /* found or made in this round */
    bool settled;
    int next, tries;
    json_t *config;
    struct problem trouble;
    struct pages pages;
};

/* One that was seen before and is gone now was deleted: it is looked for again a second later
 * before it is made. A server that is still deleting a stream tells everybody that it is gone, and
 * then takes the directory of the new one away. */
void streams_ensure(struct streams *s);

/* Tells of each of AX's streams, priorities that were added included, that has fewer replicas. */
struct streams_short {
    struct asker *asker;
    int replicas; /* asked for; 0 or 1: nothing is told */
    void (*found)(void *arg, const char *stream, int replicas);
    void (*done)(void *arg, const struct problem *p);
    void *arg;

    struct pages pages;
};
void streams_find_short(struct streams_short *s);

#endif
