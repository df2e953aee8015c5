/* What `ax doctor` judges: what the server and the daemons told of themselves (diagnosis.h). */
#ifndef AX_CLI_DOCTOR_VIEW_H
#define AX_CLI_DOCTOR_VIEW_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "bus/provision/provision.h"
#include "cli/streams/advice.h"
#include "cli/streams/pool.h"
#include "cli/streams/stats_query.h"
#include "task/peer/instance.h"

struct view_pool {
    char name[NAME_MAX_CHARS + 1];
    bool paused;    /* by its settings */
    bool is_unread; /* its settings cannot be read, and `unread` says so */
    struct advice unread;
    bool is_counted; /* counts hold */
    struct pool_counts counts;
    struct stats_pool stats; /* as its leader told */
};
struct view_stream {
    char name[64];
    bool there, has_leader;
    int64_t messages, bytes, max_msgs, max_bytes; /* max -1: no bound */
    int replicas;
    bool drops;        /* it has a limit that removes what is in it */
    int64_t max_later; /* of AX_LATER's metadata; -1: not set */
    int priority;      /* index in priorities, -1: none */
};
/* A server that has replicas of streams which others lead. */
struct view_peer {
    char name[64];
    int behind, away; /* so many of its replicas are not current, or it is not there */
};
struct view_daemon {
    char program[16];
    char name[INSTANCE_MAX_CHARS + 1];
    bool answered, ready;
    int64_t clock_behind_ms, host_ahead_ms;     /* INT64_MIN: not known */
    int64_t unknown, refused, gaps, unreadable; /* ingress: of the last five minutes */
    int64_t busy_answers[PRIORITIES_MAX];       /* the same, by priority */
};
struct view {
    struct priorities priorities;
    int pool_count, stream_count, daemon_count, peer_count;
    /* owned */
    struct view_pool *pools;
    struct view_stream *streams;
    struct view_daemon *daemons;
    struct view_peer *peers;
    /* of the account; max -1: no bound that we may see */
    int64_t memory, memory_max, storage, storage_max;
    /* the first thing that could not be read, "": everything was read */
    char trouble[256];
};

/* Reads as much as is answered, and puts what is not into out->trouble. Blocks for up to some
 * seconds. Released by view_free in any case. AX_E_NOMEM only: p says so. nc: borrowed. */
ax_err view_read(natsConnection *nc, struct view *out, struct problem *p);
void view_free(struct view *v);

/* How many processes of this program ("ax-ingress") have answered. */
int view_answered(const struct view *v, const char *program);

#endif
