/* What is wrong, judged from what was read (doctor_view.h): one finding a line, with what to turn.
 * Pure. */
#ifndef AX_CLI_DOCTOR_DIAGNOSIS_H
#define AX_CLI_DOCTOR_DIAGNOSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/provision/provision.h"
#include "cli/streams/pool.h"
#include "cli/streams/stats_query.h"
#include "task/peer/instance.h"

enum severity {
    SEVERITY_NOTE,    /* worth knowing, maybe wanted */
    SEVERITY_WARNING, /* work suffers, or soon will */
    SEVERITY_ERROR,   /* something does not work at all */
};
const char *severity_text(enum severity s);

struct finding {
    enum severity severity;
    const char *code; /* constant: "workers_busy" */
    char about[112];  /* "pool email", "stream AX_LATER", "ax-dispatch app-1-17-…" */
    char text[320];   /* what was seen */
    char fix[256];    /* what to turn */
};
struct findings {
    int count, cap;
    struct finding *list;
};

struct view_pool {
    char name[NAME_MAX_CHARS + 1];
    bool paused;     /* by its settings */
    bool is_counted; /* counts hold */
    struct pool_counts counts;
    struct stats_pool told;
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
/* A server that has replicas of AX's streams, beside those it leads. */
struct view_peer {
    char name[64];
    int behind, away; /* so many of its replicas are not current, or it is not there */
};
struct view_daemon {
    char program[16];
    char name[INSTANCE_MAX_CHARS + 1];
    bool answered, ready;
    int64_t clock_behind_ms, host_ahead_ms; /* INT64_MIN: not known */
    int64_t unknown, refused, gaps;         /* ingress: of the last five minutes */
    int64_t busy_answers[PRIORITIES_MAX];   /* the same, by priority */
};
struct view {
    struct priorities priorities;
    int pool_count, stream_count, daemon_count, peer_count;
    struct view_pool *pools;
    struct view_stream *streams;
    struct view_daemon *daemons;
    struct view_peer *peers;
    /* of the account; max -1: no bound that we may see */
    int64_t memory, memory_max, storage, storage_max;
    /* what could not be read, "": everything was */
    char trouble[256];
};

/* Findings, worst first, those of one severity in the order of a task's road. Freed by
 * findings_free. Out of memory: the rest is left out. */
void diagnose(const struct view *v, struct findings *out);
void findings_free(struct findings *f);

#endif
